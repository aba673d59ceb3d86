"""Granite 4: Mamba 2, with attention in some layers or in all."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.states import Mamba2, States

ARCHITECTURES = ("GraniteMoeHybridForCausalLM",)

ATTENDING = ("attention", "full_attention")
MIXING = ("mamba", "linear_attention")


def layers(here: Here) -> Iterator[Layer]:
    """`layer_types` has `mamba` and `attention`."""
    text, states = here.text, States(here)
    kinds = text.layer_types() or ()
    for i, kind in enumerate(kinds[: text.layers]):
        if kind in ATTENDING:
            name = here.named(f"model.layers.{i}.self_attn.attn")
            yield Attention(name, i, text.heads, text.kv_heads, text.shared_out())
        elif kind in MIXING:
            yield states.mamba2(f"model.layers.{i}.mixer", i, _sizes(here))
        else:
            text.fail("layer_types", "mamba or attention for each layer", kind)


def _sizes(here: Here) -> Mamba2:
    text = here.text
    return Mamba2(
        intermediate=text.count("mamba_expand") * text.hidden_size,
        groups=text.count("mamba_n_groups"),
        heads=text.count("mamba_n_heads"),
        head_dim=text.count("mamba_d_head"),
        state=text.count("mamba_d_state"),
        kernel=text.count("mamba_d_conv", least=2),
    )
