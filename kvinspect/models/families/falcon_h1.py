"""Falcon-H1: attention and Mamba 2 side by side in every layer."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import States, mamba2_sizes

ARCHITECTURES = ("FalconH1ForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """Mixers are numbered after the last layer, and stand under the first part of the name alone."""
    text, states = scope.text, States(scope)
    sizes = mamba2_sizes(scope, text.maybe_count("mamba_d_ssm"))
    first = scope.named("model").partition(".")[0]
    for i in range(text.layers):
        name = scope.named(f"model.layers.{i}.attn")
        yield Attention(name, i, text.heads, text.kv_heads, text.head_dim)
        mixer = states.mamba2("", i, sizes)
        yield mixer._replace(name=f"{first}.{text.layers + i}.mixer")
