"""Zamba 2: Mamba 2 in every layer, and a few attention blocks that hybrid layers share by turns."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import Mamba2, States

ARCHITECTURES = ("Zamba2ForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """Weights are shared, caches are not: each use of a block has one, numbered block by block."""
    text, states = scope.text, States(scope)
    kinds = text.words("layers_block_type", text.layers)
    hybrids = sum(kind == "hybrid" for kind in kinds)
    for number in _uses(hybrids, text.repeats("num_mem_blocks")):
        name = scope.named(f"model.attn.{number}")
        yield Attention(name, None, text.heads, text.heads, text.count("attention_head_dim"))
    for i in range(len(kinds)):
        mixer = states.mamba2("", None, _sizes(scope))
        yield mixer._replace(name=f"{hybrids + i}.mixer")


def _uses(hybrids: int, blocks: int) -> Iterator[int]:
    """The numbers that the uses of each block get."""
    for block in range(blocks):
        first = block * (hybrids + blocks - 1) // blocks
        yield from range(first, first + len(range(block, hybrids, blocks)))


def _sizes(scope: Scope) -> Mamba2:
    text = scope.text
    inner = text.count("mamba_expand") * text.hidden_size
    heads = text.count("n_mamba_heads", most=inner)
    return Mamba2(
        intermediate=inner,
        groups=text.count("mamba_ngroups"),
        heads=heads,
        head_dim=inner // heads,
        state=text.count("mamba_d_state"),
        kernel=text.count("mamba_d_conv", least=2),
    )
