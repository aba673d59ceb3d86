"""Falcon-H1: attention and Mamba 2 side by side in every layer."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import Mamba2, States

ARCHITECTURES = ("FalconH1ForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """Mixers are numbered after the last layer, and stand under the first part of the name alone."""
    text, states = scope.text, States(scope)
    sizes = _sizes(scope)
    first = scope.named("model").partition(".")[0]
    for i in range(text.layers):
        name = scope.named(f"model.layers.{i}.attn")
        yield Attention(name, i, text.heads, text.kv_heads, text.head_dim)
        mixer = states.mamba2("", i, sizes)
        yield mixer._replace(name=f"{first}.{text.layers + i}.mixer")


def _sizes(scope: Scope) -> Mamba2:
    text = scope.text
    return Mamba2(
        intermediate=text.maybe_count("mamba_d_ssm") or text.count("mamba_expand") * text.hidden_size,
        groups=text.count("mamba_n_groups"),
        heads=text.count("mamba_n_heads"),
        head_dim=text.count("mamba_d_head"),
        state=text.count("mamba_d_state"),
        kernel=text.count("mamba_d_conv", least=2),
    )
