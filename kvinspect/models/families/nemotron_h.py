"""Nemotron-H and Nemotron 3: one letter a layer says what it is."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.resolve import window_of
from kvinspect.models.scope import Scope
from kvinspect.models.states import Mamba2, States

ARCHITECTURES = ("NemotronHForCausalLM",)

WITHOUT_CACHE = "-E"


def layers(scope: Scope) -> Iterator[Layer]:
    """Mamba 2 and attention; layers of experts and feed-forward layers have no cache."""
    text, states = scope.text, States(scope)
    for i, letter in enumerate(text.word("hybrid_override_pattern")):
        if letter == "*":
            yield attention(scope, f"model.layers.{i}.mixer.attn", i)
        elif letter == "M":
            yield states.mamba2(f"model.layers.{i}.mixer", i, _sizes(scope), weighs_ahead=True)
        elif letter not in WITHOUT_CACHE:
            text.fail("hybrid_override_pattern", "a letter of M, *, - and E for each layer", letter)


def attention(scope: Scope, name: str, number: int) -> Attention:
    """A layer that attends."""
    text = scope.text
    window = window_of(text)
    return Attention(scope.named(name), number, text.heads, text.kv_heads, text.head_dim, sliding_window=window)


def _sizes(scope: Scope) -> Mamba2:
    text = scope.text
    heads, size = text.count("mamba_num_heads"), text.count("mamba_head_dim")
    return Mamba2(
        intermediate=heads * size,
        groups=text.count("n_groups"),
        heads=heads,
        head_dim=size,
        state=text.count("ssm_state_size"),
        kernel=text.count("conv_kernel", least=2),
    )
