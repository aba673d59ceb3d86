"""Which draft belongs to which model, as `SpeculativeConfig` and the configurations of drafts have it."""

from __future__ import annotations

from collections.abc import Mapping

SHIPPED: Mapping[str, tuple[str, ...]] = {
    "deepseek_v3": ("DeepSeekMTPModel",),
    **dict.fromkeys(("deepseek_v32", "glm_moe_dsa"), ("DeepseekV32MTPModel", "DeepSeekMTPModel")),
    "deepseek_v4": ("DeepSeekV4MTPModel",),
    "pangu_ultra_moe": ("OpenPanguMTPModel",),
    "kimi_k3": ("KimiK3MTPModel",),
    **dict.fromkeys(("glm4_moe", "Glm4MoeForCausalLM"), ("Glm4MoeMTPModel",)),
    **dict.fromkeys(("glm4_moe_lite", "Glm4MoeLiteForCausalLM"), ("Glm4MoeLiteMTPModel",)),
    "GlmOcrForConditionalGeneration": ("GlmOcrMTPModel",),
    "ernie4_5_moe": ("ErnieMTPModel",),
    **dict.fromkeys(
        ("nemotron_h", "nemotron_h_puzzle", "NemotronH_Super_Omni_Reasoning_V3", "NemotronH_Omni_Reasoning_V3"),
        ("NemotronHMTPModel",),
    ),
    "qwen3_next": ("Qwen3NextMTP",),
    **dict.fromkeys(("qwen3_5", "qwen3_5_text"), ("Qwen3_5MTP",)),
    **dict.fromkeys(("qwen3_5_moe", "qwen3_5_moe_text"), ("Qwen3_5MoeMTP",)),
    "BailingMoeV3ForCausalLM": ("BailingMoeV3MTPModel",),
    "bailing_hybrid": ("BailingMoeV25MTPModel",),
    "exaone_moe": ("ExaoneMoeMTP",),
    "exaone4_5": ("Exaone4_5_MTP",),
    **dict.fromkeys(("minimax_m3_vl", "MiniMaxM3SparseForConditionalGeneration"), ("MiniMaxM3MTP",)),
    "hy_v3": ("HYV3MTPModel",),
    **dict.fromkeys(("longcat_flash", "longcat_flash_ngram"), ("LongCatFlashMTPModel",)),
    **dict.fromkeys(("mimo", "MiMoForCausalLM"), ("MiMoMTPModel",)),
    **dict.fromkeys(("MiMoV2ForCausalLM", "MiMoV2FlashForCausalLM"), ("MiMoV2MTPModel",)),
    **dict.fromkeys(
        ("step3p5", "step3p7", "Step3p5ForCausalLM", "Step3p7ForConditionalGeneration"), ("Step3p5MTP",)
    ),
}  # fmt: skip
"""Architecture or model type of a target → architectures of the draft that comes with it; the first that the release
has counts (`SpeculativeConfig.hf_config_override`)."""

BY_NAME = {"eagle-": "eagle", "eagle3": "eagle3", "dflash": "dflash", "dspark": "dspark"}
"""What stands in a draft's name, in small letters → how it drafts where none is given."""

BY_ARCHITECTURE = {
    "MuseGlimmerAssistantModel": "dflash",
    **dict.fromkeys(
        ("Qwen3DSparkModel", "Qwen3OmniDSparkModel", "MuseSparkDSparkModel", "Gemma4DSparkModel"), "dspark"
    ),
}
"""Architecture of a draft → how it drafts where none is given."""

WITHOUT_LAYERS = ("", "ngram", "[ngram]", "ngram_gpu", "suffix", "medusa", "mlp_speculator")
"""Ways to draft that keep no KV cache."""

SPECULATORS: Mapping[str, Mapping[str, str]] = {
    "eagle3": {"llama": "Eagle3LlamaForCausalLM", "qwen3": "Eagle3Qwen3ForCausalLM"},
    "peagle": {"llama": "PeagleLlamaForCausalLM", "qwen3": "PeagleQwen3ForCausalLM"},
    "dflash": {"": "DFlashDraftModel"},
    "dflash2": {"": "DFlash2DraftModel"},
    "dspark": {"": "Qwen3DSparkModel"},
}
"""`speculators_model_type` → model type of its layers, "" for any → architecture."""

STEPS: Mapping[str, tuple[tuple[str, ...], int | None]] = {
    **dict.fromkeys(("Qwen3_5MTP", "Qwen3_5MoeMTP", "InternS2MobiusMTP"), (("mtp_num_hidden_layers",), None)),
    "Qwen4ExpMTP": (("mtp_num_hidden_layers", "num_nextn_predict_layers"), None),
    "MiniMaxM3MTP": (("num_mtp_modules",), 1),
    **dict.fromkeys(
        ("LongCatFlashMTPModel", "NemotronHMTPModel", "Step3p5MTP", "Step5MTP", "Dots3NoteMTPModel"),
        (("num_nextn_predict_layers",), 1),
    ),
    **dict.fromkeys(("KimiK3MTPModel", "Glm5NextMTPModel"), (("num_nextn_predict_layers",), None)),
    **dict.fromkeys(("MiMoV2MTPModel", "MiMoV2OmniMTPModel", "Gemma4MTPModel", "ParseAuxMTPModel"), ((), 1)),
}  # fmt: skip
"""Architecture of a draft that comes with its target → (keys, in the whole or the language model's part, of how many
tokens it makes at a time, what holds without them); else `num_nextn_predict_layers` of the whole."""

PROMOTED = ("Step3p5MTP", "Step5MTP", "NemotronHMTPModel", "BailingMoeV3MTPModel", "MiniMaxM3MTP")
"""Drafts whose configuration is the language model's part of their target's."""

ONE_MODULE = ("MiMoV2MTPModel", "MiMoV2OmniMTPModel", "ParseAuxMTPModel")
"""Drafts of which the engine runs one module, whatever their configuration says."""
