"""What single architectures settle for themselves before layers are made (vllm/model_executor/models/config.py)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kvinspect.models.config import Model
from kvinspect.models.flash_attention import SUPPORTED
from kvinspect.models.setting import Setting

Override = Callable[[Model, Setting], Setting]


def gemma4(model: Model, setting: Setting) -> Setting:
    """Two head sizes: FlashAttention 4 for all layers where it runs, else Triton for all."""
    text = model.text
    sizes = (text.maybe_count("head_dim"), text.maybe_count("global_head_dim"))
    if None in sizes or sizes[0] == sizes[1] or setting.platform != "cuda":
        return setting
    family = int((setting.capability or "0").split(".")[0])
    if setting.rules.gemma4_by_layer and family == 9 and setting.cache_dtype.startswith("fp8"):
        return setting
    if family in SUPPORTED[4] and max(size or 0 for size in sizes) <= 512:
        if setting.flash_attn_version is None and setting.attention_backend in (None, "FLASH_ATTN"):
            return setting._replace(flash_attn_version=4)
        return setting
    return setting._replace(attention_backend=setting.attention_backend or "TRITON_ATTN")


OVERRIDES: Mapping[str, Override] = {
    "Gemma4ForCausalLM": gemma4,
    "Gemma4ForConditionalGeneration": gemma4,
    "Gemma4UnifiedForConditionalGeneration": gemma4,
}
"""Architecture → what it settles (`MODELS_CONFIG_MAP`)."""


def overridden(model: Model, setting: Setting) -> Setting:
    """The settings with what the model's architecture changes in them."""
    architecture = setting.architecture
    override = OVERRIDES.get(architecture.name) or OVERRIDES.get(architecture.registered)
    return setting if override is None else override(model, setting)
