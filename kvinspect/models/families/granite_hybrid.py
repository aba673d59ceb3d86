"""Granite 4: Mamba 2, with attention in some layers or in all."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import Mamba2, States

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
            yield states.mamba2(f"model.layers.{i}.mixer", i, _sizes(scope))
        else:
            text.fail("layer_types", "mamba or attention for each layer", kind)


def _sizes(scope: Scope) -> Mamba2:
    text = scope.text
    return Mamba2(
        intermediate=text.count("mamba_expand") * text.hidden_size,
        groups=text.count("mamba_n_groups"),
        heads=text.count("mamba_n_heads"),
        head_dim=text.count("mamba_d_head"),
        state=text.count("mamba_d_state"),
        kernel=text.count("mamba_d_conv", least=2),
    )
