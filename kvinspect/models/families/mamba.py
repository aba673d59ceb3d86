"""Mamba 1 and 2 and Falcon-Mamba: states and no attention."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Layer
from kvinspect.models.states import Mamba2, States

ARCHITECTURES = ("MambaForCausalLM", "Mamba2ForCausalLM")


def layers(here: Here) -> Iterator[Layer]:
    """One mixer a layer."""
    text, states = here.text, States(here)
    kernel, size = text.count("conv_kernel", least=2), text.count("state_size")
    for i in range(text.layers):
        name = f"backbone.layers.{i}.mixer"
        if here.cls == "MambaForCausalLM":
            yield states.mamba1(name, i, text.count("intermediate_size"), size, kernel)
        else:
            yield states.mamba2(name, i, _sizes(here, size, kernel), weighs_ahead=True)


def _sizes(here: Here, size: int, kernel: int) -> Mamba2:
    text = here.text
    intermediate = text.count("intermediate_size", text.count("expand") * text.hidden_size)
    return Mamba2(intermediate, text.count("n_groups"), text.count("num_heads"), text.count("head_dim"), size, kernel)
