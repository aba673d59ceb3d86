"""Nemotron-H and Nemotron 3: one letter a layer says what it is."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.resolve import window_of
from kvinspect.models.states import Mamba2, States

ARCHITECTURES = ("NemotronHForCausalLM",)

LETTERS = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}


def layers(here: Here) -> Iterator[Layer]:
    """Mamba 2 and attention; layers of experts and feed-forward layers have no cache."""
    text, states = here.text, States(here)
    for i, letter in enumerate(pattern(here)):
        if letter == "*":
            yield attention(here, f"model.layers.{i}.mixer.attn", i)
        elif letter == "M":
            yield states.mamba2(f"model.layers.{i}.mixer", i, _sizes(here), weighs_ahead=True)
        elif letter not in LETTERS:
            text.fail("hybrid_override_pattern", "a letter of M, *, - and E for each layer", letter)


def pattern(here: Here) -> str:
    """The letters of the layers, written so or as a list of words."""
    text = here.text
    letters = text.get("hybrid_override_pattern")
    if letters is None:
        words = {word: letter for letter, word in LETTERS.items()}
        letters = "".join(words.get(word, "?") for word in text.items("layers_block_type"))
    if not isinstance(letters, str) or not letters:
        text.fail("hybrid_override_pattern", "a letter for each layer", letters or None)
    return letters


def attention(here: Here, name: str, number: int) -> Attention:
    """A layer that attends."""
    text = here.text
    window = window_of(text)
    return Attention(here.named(name), number, text.heads, text.kv_heads, text.head_dim, sliding_window=window)


def _sizes(here: Here) -> Mamba2:
    text = here.text
    heads, size = text.count("mamba_num_heads"), text.count("mamba_head_dim")
    return Mamba2(
        intermediate=heads * size,
        groups=text.count("n_groups"),
        heads=heads,
        head_dim=size,
        state=text.count("ssm_state_size"),
        kernel=text.count("conv_kernel"),
    )
