"""DFlash and DSpark drafts: a few layers of Qwen's kind that look both ways, numbered behind the target's."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Attention, Layer

ARCHITECTURES = (
    "DFlashQwen3ForCausalLM", "DFlash2Qwen3ForCausalLM", "Qwen3DSparkForCausalLM", "Qwen3XPressForCausalLM",
    "LiLiCorrForCausalLM",
)  # fmt: skip


def layers(here: Here) -> Iterator[Layer]:
    """Windows by `layer_types`, or on all layers where `dflash_config` has `use_swa` and no layer has one by its type.

    Raises DocumentError for a window without a size.
    """
    text, first = here.text, here.model.text.layers
    own = text.mapping("dflash_config")
    kinds = text.layer_types() or ()
    everywhere = own.flag("use_swa") and "sliding_attention" not in kinds
    for i in range(text.layers):
        sliding = everywhere or (bool(kinds) and kinds[i] == "sliding_attention")
        window = own.maybe_tokens("swa_window_size") or text.maybe_tokens("sliding_window") if sliding else None
        if sliding and window is None:
            text.fail("sliding_window", "the window of the draft's layers", None)
        name = here.named(f"model.layers.{first + i}.self_attn.attn")
        yield Attention(name, first + i, text.heads, text.kv_heads, text.head_dim, sliding_window=window)
