"""Whether block IDs address the same bytes through all views of an allocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from kvinspect.engine.reshape import LayerView
from kvinspect.geometry.disjoint import Meeting, meeting
from kvinspect.geometry.runs import BlockBytes, block_bytes
from kvinspect.geometry.view import Ints, StridedView

Size = tuple[int, int, int]
"""What makes one counterexample smaller than another: the larger block ID, then both, then the byte."""


class Conflict(NamedTuple):
    """Two layers, or one layer twice, and two block IDs whose bytes meet: a counterexample of an allocation."""

    layers: tuple[str, str]
    block_ids: tuple[int, int]
    byte: int
    num_bytes: int

    @property
    def size(self) -> Size:
        """Its place among the counterexamples of an allocation, the smallest of which is printed."""
        return max(self.block_ids), sum(self.block_ids), self.byte


Pattern = tuple[BlockBytes, ...]


def pattern(view: LayerView, num_blocks: int) -> Pattern:
    """The bytes of each of the manager's blocks through a layer, one entry a view of the layer."""
    dims = (view.block_dim or 0, num_blocks, view.kernel_blocks)
    return tuple(
        _from_byte_0(part.view.shape, part.view.stride, part.view.itemsize, dims)._replace(
            offset=part.view.storage_offset * part.view.itemsize
        )
        for part in view.parts
    )


@lru_cache(maxsize=4096)
def _from_byte_0(shape: Ints, stride: Ints, itemsize: int, dims: tuple[int, int, int]) -> BlockBytes:
    """The bytes of blocks through a view that begins at byte 0, which layers alike have in common."""
    block_dim, num_blocks, kernel_blocks = dims
    return block_bytes(StridedView(shape, stride, 0, itemsize, 0), block_dim, num_blocks, kernel_blocks)


def self_conflict(patterns: Mapping[str, Pattern], layers: Iterable[str]) -> Conflict | None:
    """The smallest meeting of two blocks of one and the same layer, None where every view keeps its blocks apart.

    Layers that differ in where they begin alone are proved together.
    """
    first: dict[Pattern, tuple[str, int]] = {}
    for layer in layers:
        begin = min((part.offset for part in patterns[layer]), default=0)
        alike = tuple(part._replace(offset=part.offset - begin) for part in patterns[layer])
        first.setdefault(alike, (layer, begin))
    found = [
        Conflict((layer, layer), met.blocks, met.byte + begin, met.num_bytes)
        for alike, (layer, begin) in first.items()
        if (met := first_meeting(alike, alike)) is not None
    ]
    return min(found, key=lambda conflict: conflict.size, default=None)


def first_meeting(first: Pattern, second: Pattern) -> Meeting | None:
    """The smallest meeting of any view of one layer with any view of another."""
    met = [m for a in first for b in second if (m := meeting(a, b)) is not None]
    return min(met, key=lambda m: m.size, default=None)
