"""DFlash and DSpark drafts: a few layers of Qwen's kind that look both ways, numbered behind the target's."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.fields import Fields
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = (
    "DFlashQwen3ForCausalLM", "DFlash2Qwen3ForCausalLM", "Qwen3DSparkForCausalLM", "Qwen3XPressForCausalLM",
    "LiLiCorrForCausalLM", "DFlashLagunaForCausalLM",
)  # fmt: skip


LAGUNA = "DFlashLagunaForCausalLM"
"""Its windows limit what is computed; its caches keep all tokens."""


def layers(scope: Scope) -> Iterator[Layer]:
    """The layers, numbered behind those of the target, or of as many as the draft itself says."""
    text = scope.text
    first = text.count("target_layer_count", least=0) if scope.cls == LAGUNA else scope.model.text.layers
    for i in range(text.layers):
        name = scope.named(f"model.layers.{first + i}.self_attn.attn")
        window = None if scope.cls == LAGUNA else _window(text, i)
        yield Attention(name, first + i, text.heads, text.kv_heads, text.head_dim, sliding_window=window)


def _window(text: Fields, index: int) -> int | None:
    """By `layer_types`, or of all layers where `dflash_config` has `use_swa` and no layer has a window by its type.

    Raises DocumentError for a window without a size.
    """
    kinds, own = text.layer_types() or (), text.mapping("dflash_config")
    by_type = kinds[index] == "sliding_attention" if kinds else False
    if not by_type and not (own.flag("use_swa") and "sliding_attention" not in kinds):
        return None
    window = own.maybe_tokens("swa_window_size") or text.maybe_tokens("sliding_window")
    if window is None:
        text.fail("sliding_window", "the window of the draft's layers", None)
    return window
