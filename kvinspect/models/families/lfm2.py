"""LFM 2: short convolutions, with attention in some layers."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import States

ARCHITECTURES = ("Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "ColBERTLfm2Model", "Lfm2BidirectionalModel")

BOTH_WAYS = "Lfm2BidirectionalModel"
"""Its convolutions look both ways too, and keep no state."""

BARE = ("ColBERTLfm2Model", BOTH_WAYS)


def layers(scope: Scope) -> Iterator[Layer]:
    """Layers that `layer_types` does not call `full_attention` are convolutions."""
    text, states = scope.text, States(scope)
    stack = scope.bare("layers") if scope.cls in BARE else "model.layers"
    kinds = text.layer_types() or ()
    channels = text.count("conv_dim") if scope.cls != "Lfm2MoeForCausalLM" else text.hidden_size
    for i, kind in enumerate(kinds[: text.layers]):
        if kind == "full_attention":
            name = scope.named(f"{stack}.{i}.self_attn.attn")
            both = "encoder_only" if scope.cls == BOTH_WAYS else "decoder"
            yield Attention(name, i, text.heads, text.kv_heads, text.shared_out(), attn_type=both)
        elif scope.cls != BOTH_WAYS:
            yield states.short_conv(
                f"{stack}.{i}.{scope.rules.short_conv}", i, channels, text.count("conv_L_cache", least=2)
            )
