"""LFM 2: short convolutions, with attention in some layers."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.states import States

ARCHITECTURES = ("Lfm2ForCausalLM", "Lfm2MoeForCausalLM", "ColBERTLfm2Model")


def layers(here: Here) -> Iterator[Layer]:
    """Layers that `layer_types` does not call `full_attention` are convolutions."""
    text, states = here.text, States(here)
    stack = here.bare("layers") if here.cls == "ColBERTLfm2Model" else "model.layers"
    kinds = text.layer_types() or ()
    channels = text.count("conv_dim") if here.cls != "Lfm2MoeForCausalLM" else text.hidden_size
    for i, kind in enumerate(kinds[: text.layers]):
        if kind == "full_attention":
            name = here.named(f"{stack}.{i}.self_attn.attn")
            yield Attention(name, i, text.heads, text.kv_heads, text.shared_out())
        else:
            yield states.short_conv(
                f"{stack}.{i}.{here.rules.short_conv}", i, channels, text.count("conv_L_cache", least=2)
            )
