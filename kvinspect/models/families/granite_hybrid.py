"""Granite 4: Mamba 2, with attention in some layers or in all."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import States, mamba2_sizes

ARCHITECTURES = ("GraniteMoeHybridForCausalLM",)

ATTENDING = ("attention", "full_attention")
MIXING = ("mamba", "linear_attention")


def layers(scope: Scope) -> Iterator[Layer]:
    """`layer_types` has `mamba` and `attention`."""
    text, states = scope.text, States(scope)
    kinds = text.layer_types() or ()
    for i, kind in enumerate(kinds[: text.layers]):
        if kind in ATTENDING:
            name = scope.named(f"model.layers.{i}.self_attn.attn")
            yield Attention(name, i, text.heads, text.kv_heads, text.shared_out())
        elif kind in MIXING:
            yield states.mamba2(f"model.layers.{i}.mixer", i, mamba2_sizes(scope))
        else:
            text.fail("layer_types", "mamba or attention for each layer", kind)
