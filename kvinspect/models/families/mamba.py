"""Mamba 1 and 2 and Falcon-Mamba: states and no attention."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import Mamba2, States

ARCHITECTURES = ("MambaForCausalLM", "Mamba2ForCausalLM")


def layers(scope: Scope) -> Iterator[Layer]:
    """One mixer a layer."""
    text, states = scope.text, States(scope)
    kernel, size = text.count("conv_kernel", least=2), text.count("state_size")
    for i in range(text.layers):
        name = f"backbone.layers.{i}.mixer"
        if scope.cls == "MambaForCausalLM":
            yield states.mamba1(name, i, text.count("intermediate_size"), size, kernel)
        else:
            yield states.mamba2(name, i, _sizes(scope, size, kernel), weighs_ahead=True)


def _sizes(scope: Scope, size: int, kernel: int) -> Mamba2:
    text = scope.text
    intermediate = text.count("intermediate_size", text.count("expand") * text.hidden_size)
    return Mamba2(intermediate, text.count("n_groups"), text.count("num_heads"), text.count("head_dim"), size, kernel)
