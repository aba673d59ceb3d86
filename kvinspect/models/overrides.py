"""What single architectures settle for themselves before layers are made (vllm/model_executor/models/config.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kvinspect.backends.conditions import choose
from kvinspect.backends.flash_attention import SUPPORTED
from kvinspect.models.config import Model
from kvinspect.models.resolve import stopped
from kvinspect.models.setting import ModelSetting

Override = Callable[[Model, ModelSetting], ModelSetting]


def gemma4(model: Model, setting: ModelSetting) -> ModelSetting:
    """Two head sizes: FlashAttention 4 for all layers where it runs, else Triton for all."""
    text = model.text
    sizes = (text.maybe_count("head_dim"), text.maybe_count("global_head_dim"))
    if None in sizes or sizes[0] == sizes[1] or setting.platform != "cuda":
        return setting
    flash, triton = setting.model_backends("gemma4")
    family = int((setting.capability or "0").split(".")[0])
    if setting.rules.gemma4_by_layer and family == 9 and setting.cache_dtype.startswith("fp8"):
        return setting
    if family in SUPPORTED[4] and max(size or 0 for size in sizes) <= 512:
        if setting.flash_attn_version is None and setting.attention_backend in (None, flash):
            return setting._replace(flash_attn_version=4)
        return setting
    return setting._replace(attention_backend=setting.attention_backend or triton)


def deepseek_v32(model: Model, setting: ModelSetting) -> ModelSetting:
    """A cache asked to be bfloat16 is the model's own."""
    return setting._replace(cache_dtype="auto") if setting.cache_dtype == "bfloat16" else setting


def deepseek_v4(model: Model, setting: ModelSetting) -> ModelSetting:
    """FlashMLA's rows, and FlashInfer's on devices of 12.x, have DeepSeek's own format, which is fp8."""
    entry = setting.release.catalogue["backends"].get(setting.attention_backend, {})
    if choose(entry.get("unpacked_rows"), setting.deployment.facts()):
        return setting
    own = setting.cache_dtype == "auto" and setting.rules.deepseek_v4_is_fp8
    if not own and not setting.cache_dtype.startswith("fp8"):
        raise stopped("kv_cache_dtype", f"DeepSeek V4 supports only an fp8 KV cache, not {setting.cache_dtype}")
    return setting._replace(cache_dtype="fp8_ds_mla")


def nemotron_h(model: Model, setting: ModelSetting) -> ModelSetting:
    """States in float32 where neither the user nor the file says otherwise."""
    return _state_dtype(setting, model.text.dtype("mamba_ssm_cache_dtype", "float32", STATE_DTYPES))


def qwen3_5(model: Model, setting: ModelSetting) -> ModelSetting:
    """States in the dtype of the file where the user names none."""
    return _state_dtype(setting, model.text.dtype("mamba_ssm_dtype", "auto", STATE_DTYPES))


STATE_DTYPES = ("auto", "float32", "float16", "bfloat16")
"""What the cache of a state may be asked to be, in a file as on the command line."""


def _state_dtype(setting: ModelSetting, dtype: str) -> ModelSetting:
    return setting._replace(mamba_ssm_cache_dtype=dtype) if setting.mamba_ssm_cache_dtype == "auto" else setting


OVERRIDES: Mapping[str, Override] = {
    "DeepseekV32ForCausalLM": deepseek_v32,
    "DeepseekV4ForCausalLM": deepseek_v4,
    "Gemma4ForCausalLM": gemma4,
    "Gemma4ForConditionalGeneration": gemma4,
    "Gemma4UnifiedForConditionalGeneration": gemma4,
    **dict.fromkeys(("NemotronHForCausalLM", "NemotronHPuzzleForCausalLM", "NemotronH_Nano_VL_V2"), nemotron_h),
    **dict.fromkeys(
        ("Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM", "Qwen3_5ForConditionalGeneration", "ColQwen3_5",
         "Qwen3_5MoeForConditionalGeneration", "D3ForSequenceClassification"),
        qwen3_5,
    ),
}  # fmt: skip
"""Architecture → what it settles (`MODELS_CONFIG_MAP`)."""


def _check_replay(setting: ModelSetting) -> None:
    """`--use-replayssm` keeps a ring of inputs beside the states, which few models and settings know."""
    if not setting.arguments.use_replayssm:
        return
    if setting.architecture.cls != "NemotronHForCausalLM":
        raise stopped("use_replayssm", f"use_replayssm is for Nemotron-H, not for {setting.architecture.name}")
    if setting.mamba_cache_mode == "all":
        raise stopped("use_replayssm", "use_replayssm takes mamba_cache_mode none and align only")
    if setting.arguments.num_speculative_tokens:
        raise stopped("use_replayssm", "use_replayssm does not go with speculative decoding")


def overridden(model: Model, setting: ModelSetting) -> ModelSetting:
    """The settings with what the model's architecture changes in them. Raises DocumentError for what it refuses."""
    _check_replay(setting)
    architecture = setting.architecture
    override = OVERRIDES.get(architecture.name) or OVERRIDES.get(architecture.registered)
    return setting if override is None else override(model, setting)
