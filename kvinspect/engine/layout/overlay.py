"""Whether the layers that overlay each other on the one allocation keep different blocks apart.

There are as many pairs of layers as there are, but few of them differ in more than where they begin: what is proved is
a pair of patterns and the bytes between their beginnings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
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
    """The layers with a view, by where they begin."""
    found = [Layer(name, tensor_of[name], pattern(view, num_blocks)[0]) for name, view in views.items()]
    return sorted(found, key=lambda layer: layer.bytes.offset)


def conflicts(overlaid: Sequence[Layer]) -> dict[int, Conflict]:
    """Tensor → the smallest counterexample in which one of its layers has a part."""
    found: dict[int, tuple[Meeting, Conflict]] = {}
    for first, second in _meeting_pairs(overlaid):
        met = apart_by(first.bytes, second.bytes)
        if met is None:
            continue
        conflict = Conflict((first.name, second.name), met.blocks, met.byte, met.num_bytes)
        for tensor in {first.tensor, second.tensor}:
            if tensor not in found or met.size < found[tensor][0].size:
                found[tensor] = (met, conflict)
    return {tensor: conflict for tensor, (_, conflict) in found.items()}


def touching(overlaid: Sequence[Layer]) -> set[int]:
    """The tensors whose layers share a byte with a layer of another."""
    touched: set[int] = set()
    for first, second in _meeting_pairs(overlaid):
        both = {first.tensor, second.tensor}
        if len(both) == 2 and not both <= touched and _touch(first.bytes, second.bytes):
            touched |= both
    return touched


def _meeting_pairs(overlaid: Sequence[Layer]) -> Iterator[tuple[Layer, Layer]]:
    """The pairs whose extents overlap; the layers come by where they begin."""
    for i, first in enumerate(overlaid):
        for second in overlaid[i + 1 :]:
            if second.bytes.offset >= first.bytes.end:
                break
            yield first, second


def apart_by(first: BlockBytes, second: BlockBytes) -> Meeting | None:
    """The smallest meeting of different blocks; pairs that differ in where both begin are proved once."""
    base = min(first.offset, second.offset)
    met = meeting(first._replace(offset=first.offset - base), second._replace(offset=second.offset - base))
    return met and met._replace(byte=met.byte + base)


def _touch(first: BlockBytes, second: BlockBytes) -> bool:
    return apart_by(first, second) is not None or _same_block(
        first._replace(offset=0), second._replace(offset=second.offset - first.offset)
    )


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
