"""Models that see or hear, as far as their language model goes: it stands under a prefix and is of another family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope


class Wrapper(NamedTuple):
    """Where the language model stands, and its architecture where that is fixed."""

    prefix: str = "language_model"
    architecture: str | None = None
    bare: bool = False
    """Whether the language model is built without its head, so that its layers stand right under the prefix."""


_NESTED = Wrapper()
_QWEN2 = Wrapper(architecture="Qwen2ForCausalLM")
_QWEN3 = Wrapper(architecture="Qwen3ForCausalLM")
_LLAMA = Wrapper(architecture="LlamaForCausalLM")

ARCHITECTURES: dict[str, Wrapper] = {
    **dict.fromkeys(
        ("Blip2ForConditionalGeneration", "Cohere2VisionForConditionalGeneration", "DeepseekOCRForCausalLM",
         "DeepseekOCR2ForCausalLM", "Eagle2_5_VLForConditionalGeneration", "GraniteSpeechForConditionalGeneration",
         "GraniteSpeechPlusForConditionalGeneration", "HCXVisionForCausalLM", "HCXVisionV2ForCausalLM",
         "InternS1ForConditionalGeneration", "InternVLChatModel", "H2OVLChatModel",
         "LightOnOCRForConditionalGeneration",
         "LlavaForConditionalGeneration", "LlavaNextForConditionalGeneration",
         "LlavaNextVideoForConditionalGeneration",
         "LlavaOnevisionForConditionalGeneration", "BeeForConditionalGeneration", "Mistral3ForConditionalGeneration",
         "NemotronH_Nano_VL_V2", "LlamaNemotronVLChatModel", "OpenVLAForActionPrediction",
         "PaliGemmaForConditionalGeneration",
         "PixtralForConditionalGeneration", "SkyworkR1VChatModel", "Step3VLForConditionalGeneration",
         "Step3p7ForConditionalGeneration", "StepVLForConditionalGeneration", "UltravoxModel",
         "VoxtralForConditionalGeneration",
         "NVLM_D_Model"),
        _NESTED,
    ),
    **dict.fromkeys(
        ("AudioFlamingo3ForConditionalGeneration", "BagelForConditionalGeneration", "CheersForConditionalGeneration",
         "OpenCUAForConditionalGeneration", "Qwen2AudioForConditionalGeneration", "Qwen2VLForConditionalGeneration",
         "Qwen2_5_VLForConditionalGeneration", "Qwen2_5OmniThinkerForConditionalGeneration", "DotsOCRForCausalLM"),
        _QWEN2,
    ),
    **dict.fromkeys(
        ("FunAudioChatForConditionalGeneration", "IsaacForConditionalGeneration", "KeyeForConditionalGeneration",
         "KeyeVL1_5ForConditionalGeneration", "LlavaOnevision2ForConditionalGeneration",
         "Qwen3VLForConditionalGeneration",
         "MossTranscribeDiarizeForConditionalGeneration"),
        _QWEN3,
    ),
    "Qwen3VLMoeForConditionalGeneration": Wrapper(architecture="Qwen3MoeForCausalLM"),
    "ClefOmniForJointSchema": Wrapper(architecture="Qwen3MoeForCausalLM"),
    "Qwen3OmniMoeThinkerForConditionalGeneration": Wrapper(architecture="Qwen3MoeForCausalLM"),
    "GlmAsrForConditionalGeneration": _LLAMA,
    "KananaVForConditionalGeneration": Wrapper("model", "LlamaForCausalLM"),
    "Exaone4_5_ForConditionalGeneration": Wrapper(architecture="Exaone4ForCausalLM"),
    "Gemma3ForConditionalGeneration": Wrapper(architecture="Gemma3ForCausalLM"),
    "Gemma3nForConditionalGeneration": Wrapper(architecture="Gemma3nForCausalLM"),
    "Gemma4ForConditionalGeneration": Wrapper(architecture="Gemma4ForCausalLM"),
    "Gemma4UnifiedForConditionalGeneration": Wrapper(architecture="Gemma4ForCausalLM"),
    **dict.fromkeys(
        ("Idefics3ForConditionalGeneration", "SmolVLMForConditionalGeneration"),
        Wrapper("model.text_model", "LlamaForCausalLM", bare=True),
    ),
    **dict.fromkeys(
        ("Glm4vForConditionalGeneration", "GlmOcrForConditionalGeneration"), Wrapper(architecture="Glm4ForCausalLM")
    ),
    "Glm4vMoeForConditionalGeneration": Wrapper(architecture="Glm4MoeForCausalLM"),
    "Granite4VisionForConditionalGeneration": Wrapper(architecture="GraniteForCausalLM"),
    "AriaForConditionalGeneration": Wrapper("language_model.model", "LlamaForCausalLM", bare=True),
    "PaddleOCRVLForConditionalGeneration": Wrapper(architecture="Ernie4_5ForCausalLM"),
    "QianfanOCRForConditionalGeneration": _NESTED,
    "RForConditionalGeneration": _NESTED,
    "HunYuanVLForConditionalGeneration": Wrapper("language_model.model", "HunYuanDenseV1ForCausalLM"),
    "KimiAudioForConditionalGeneration": _QWEN2,
    "MossAudioModel": _QWEN3,
    **dict.fromkeys(
        ("Qwen3ASRForConditionalGeneration", "Qwen3ASRRealtimeGeneration",
         "Qwen3ASRForcedAlignerForTokenClassification"),
        _QWEN3,
    ),
    "OpenPanguVLForConditionalGeneration": Wrapper("openpangu.language_model", "PanguEmbeddedForCausalLM"),
    "InternS1ProForConditionalGeneration": Wrapper(architecture="Qwen3MoeForCausalLM"),
    "LlamaNemotronVLForEmbedding": _NESTED,
    "LlamaNemotronVLForSequenceClassification": _NESTED,
    "DeepseekVLV2ForCausalLM": Wrapper("language"),
    "KimiVLForConditionalGeneration": Wrapper(architecture="DeepseekV2ForCausalLM"),
    "KimiK25ForConditionalGeneration": Wrapper(architecture="DeepseekV2ForCausalLM"),
    "Lfm2VLForConditionalGeneration": Wrapper("language"),
    "MiDashengLMModel": Wrapper("decoder", "Qwen2ForCausalLM"),
    "Ovis": Wrapper("llm"),
    "Ovis2_5": Wrapper("llm"),
    "Phi4ForCausalLMV": Wrapper(architecture="Phi3ForCausalLM"),
    "Phi3VForCausalLM": Wrapper("", "LlamaForCausalLM"),
    **dict.fromkeys(
        ("Cosmos3ForConditionalGeneration", "ColQwen3Model", "Alpamayo2SuperForConditionalGeneration"), _QWEN3
    ),
    **dict.fromkeys(("ColPaliModel", "VoxtralRealtimeGeneration", "UnlimitedOCRForCausalLM"), _NESTED),
    "JinaVLForSequenceClassification": Wrapper("qwen2_vl.language_model", "Qwen2ForCausalLM"),
    "DiffusionGemmaForConditionalGeneration": Wrapper("", "Gemma4ForCausalLM"),
    "FireRedASR2ForConditionalGeneration": Wrapper("model.decoder", "Qwen2ForCausalLM"),
    "FunASRForConditionalGeneration": Wrapper("model.decoder", "Qwen3ForCausalLM", bare=True),
    "MiMoV2OmniForCausalLM": Wrapper(architecture="MiMoV2FlashForCausalLM"),
    "BailingMoeV3VLForConditionalGeneration": Wrapper(architecture="BailingMoeV3ForCausalLM"),
    "Llama4ForConditionalGeneration": Wrapper(architecture="Llama4ForCausalLM"),
}  # fmt: skip


def layers(scope: Scope) -> Iterator[Layer]:
    """The language model's layers, under its prefix."""
    way = ARCHITECTURES[scope.cls]
    for layer in scope.inner(scope.text, way.prefix, way.architecture):
        yield layer._replace(name=layer.name.replace(".model.layers.", ".layers.", 1)) if way.bare else layer
