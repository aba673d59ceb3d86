"""PLaMo 2: Mamba 2 without groups, with attention every few layers."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import Mamba2, States

ARCHITECTURES = ("Plamo2ForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """The middle one of every `mamba_step` layers attends; in a shorter model the last does."""
    text, states = scope.text, States(scope)
    step, size = text.count("mamba_step"), text.count("hidden_size_per_head")
    heads = text.count("mamba_num_heads")
    sizes = Mamba2(heads * size, 0, heads, size, text.count("mamba_d_state"), text.count("mamba_d_conv", least=2))
    short = text.layers <= step // 2
    attending = text.layers - 1 if short else step // 2
    for i in range(text.layers):
        name = f"model.layers.layers.{i}.mixer"
        if (i if short else i % step) == attending:
            yield Attention(scope.named(f"{name}.attn"), i, text.heads, text.kv_heads, size)
        else:
            yield states.mamba2(name, i, sizes)
