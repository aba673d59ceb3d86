"""Whether the layers that overlay each other on the one allocation keep different blocks apart.

There are as many pairs of layers as there are, but few of them differ in more than where they begin: what is proved is
a pair of patterns and the bytes between their beginnings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

from kvinspect.engine.reshape import LayerView
from kvinspect.engine.soundness import Conflict, pattern
from kvinspect.geometry.disjoint import Meeting, gaps, meeting
from kvinspect.geometry.runs import BlockBytes


class Layer(NamedTuple):
    """A layer on the allocation: which tensor places it, and the bytes of its blocks."""

    name: str
    tensor: int
    bytes: BlockBytes


def layers(views: Mapping[str, LayerView], tensor_of: Mapping[str, int], num_blocks: int) -> list[Layer]:
    """The layers with a view."""
    return [Layer(name, tensor_of[name], pattern(view, num_blocks)[0]) for name, view in views.items()]


class Alike(NamedTuple):
    """Layers of one tensor that differ in where they begin alone."""

    tensor: int
    bytes: BlockBytes
    """As if they began at byte 0."""
    names: dict[int, list[str]]
    """Where layers begin → which do."""


def conflicts(overlaid: Sequence[Layer]) -> dict[int, Conflict]:
    """Tensor → the smallest counterexample in which one of its layers has a part."""
    found: dict[int, tuple[tuple[int, int, int], Conflict]] = {}
    for first, second in combinations_with_replacement(_alike(overlaid), 2):
        for apart in _overlapping(first, second):
            met = meeting(*_placed(first, second, apart))
            if met is None:
                continue
            size, conflict = _first_pair(first, second, apart, met)
            for tensor in {first.tensor, second.tensor}:
                if tensor not in found or size < found[tensor][0]:
                    found[tensor] = (size, conflict)
    return {tensor: conflict for tensor, (_, conflict) in found.items()}


def touching(overlaid: Sequence[Layer]) -> set[int]:
    """The tensors whose layers share a byte with a layer of another."""
    touched: set[int] = set()
    for first, second in combinations(_alike(overlaid), 2):
        both = {first.tensor, second.tensor}
        if len(both) == 1 or both <= touched:
            continue
        if any(_touch(*_placed(first, second, apart)) for apart in _overlapping(first, second)):
            touched |= both
    return touched


def _alike(overlaid: Sequence[Layer]) -> list[Alike]:
    found: dict[tuple[int, BlockBytes], Alike] = {}
    for layer in overlaid:
        key = (layer.tensor, layer.bytes._replace(offset=0))
        alike = found.setdefault(key, Alike(*key, {}))
        alike.names.setdefault(layer.bytes.offset, []).append(layer.name)
    return list(found.values())


def _overlapping(first: Alike, second: Alike) -> list[int]:
    """How many bytes a layer of the second may begin behind one of the first, where their extents overlap."""
    if first is second:
        begins = sorted(first.names)
        apart = {b - a for i, a in enumerate(begins) for b in begins[i + 1 :]}
        apart |= {0} if any(len(names) > 1 for names in first.names.values()) else set()
    else:
        apart = {b - a for a in first.names for b in second.names}
    return [step for step in apart if -second.bytes.end < step < first.bytes.end]


def _placed(first: Alike, second: Alike, apart: int) -> tuple[BlockBytes, BlockBytes]:
    """The patterns of two layers so many bytes apart, the earlier at byte 0."""
    return first.bytes._replace(offset=max(-apart, 0)), second.bytes._replace(offset=max(apart, 0))


def _first_pair(first: Alike, second: Alike, apart: int, met: Meeting) -> tuple[tuple[int, int, int], Conflict]:
    """The pair of layers so far apart that begins first, as a counterexample with its size."""
    begin = min(
        a for a in first.names if a + apart in second.names and (apart or first is not second or _two(first, a))
    )
    one, *more = first.names[begin]
    other = more[0] if first is second and apart == 0 else second.names[begin + apart][0]
    moved = met._replace(byte=met.byte + begin + min(apart, 0))
    return moved.size, Conflict((one, other), moved.blocks, moved.byte, moved.num_bytes)


def _two(alike: Alike, begin: int) -> bool:
    return len(alike.names[begin]) > 1


def _touch(first: BlockBytes, second: BlockBytes) -> bool:
    return meeting(first, second) is not None or _same_block(first, second)


@lru_cache(maxsize=4096)
def _same_block(first: BlockBytes, second: BlockBytes) -> bool:
    """Whether a block of one shares a byte with the block of the same ID of the other."""
    step, count = first.block_stride - second.block_stride, min(first.num_blocks, second.num_blocks)
    return any(_multiple_within(step, count, low, high) for low, high in gaps(first, second))


def _multiple_within(step: int, count: int, low: int, high: int) -> bool:
    """Whether one of 0, step, …, (count − 1)·step lies in [low, high].

    >>> _multiple_within(-8, 4, -17, -15), _multiple_within(-8, 2, -17, -15)
    (True, False)
    """
    if step < 0:
        step, low, high = -step, -high, -low
    if step == 0:
        return count > 0 and low <= 0 <= high
    least = max(0, -(-low // step))
    return least < count and least * step <= high
