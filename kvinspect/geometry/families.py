"""Layers alike, as one: which of them it is, is one more dim of where the runs of a block lie.

Layers of one pattern that begin at evenly spaced bytes are a family. A proof about a family is a proof about each of
its layers, so that its cost depends on how many kinds of layers there are and not on how many layers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kvinspect.geometry.runs import BlockBytes, merged


class Family(NamedTuple):
    """`num_layers` layers that begin at `begin`, `begin + step` and so on."""

    bytes: BlockBytes
    """Of a layer that begins at byte 0."""
    begin: int
    step: int = 0
    num_layers: int = 1

    @property
    def together(self) -> BlockBytes:
        """The blocks of all its layers at once: block b is block b of any of them."""
        dims, run = merged([*self.bytes.dims, (self.num_layers, self.step)], self.bytes.run)
        return self.bytes._replace(offset=self.begin, dims=dims, run=run)

    @property
    def by_layer(self) -> BlockBytes:
        """The layers in place of the blocks: "block" n is all that its n-th layer covers.

        >>> pages = BlockBytes(offset=0, block_stride=64, num_blocks=4, dims=(), run=64)
        >>> Family(pages, 0, 256, 3).by_layer
        BlockBytes(offset=0, block_stride=256, num_blocks=3, dims=(), run=256)
        """
        blocks = (self.bytes.num_blocks, self.bytes.block_stride)
        dims, run = merged([*self.bytes.dims, blocks], self.bytes.run)
        return BlockBytes(self.begin, self.step, self.num_layers, dims, run)

    @property
    def everything(self) -> BlockBytes:
        """All bytes of all its layers, as one block."""
        layers = self.by_layer
        dims, run = merged([*layers.dims, (self.num_layers, self.step)], layers.run)
        return BlockBytes(self.begin, 0, 1, dims, run)

    @property
    def is_nested(self) -> bool:
        """Whether what is smaller lies between the steps of what is larger, so that no two of its layers meet.

        >>> pages = BlockBytes(offset=0, block_stride=64, num_blocks=4, dims=(), run=48)
        >>> Family(pages, 0, 256, 3).is_nested, Family(pages, 0, 32, 3).is_nested
        (True, False)
        """
        blocks = (self.bytes.num_blocks, self.bytes.block_stride)
        extent = self.bytes.run
        for count, stride in sorted([*self.bytes.dims, blocks, (self.num_layers, self.step)], key=lambda dim: dim[1]):
            if count > 1 and stride < extent:
                return False
            extent += (count - 1) * stride
        return True

    def halves(self) -> tuple[Family, Family]:
        """The first of its layers and the rest, of a family of more than one."""
        first = self.num_layers // 2
        return self._replace(num_layers=first), self._replace(
            begin=self.begin + first * self.step, num_layers=self.num_layers - first
        )


def families(alike: BlockBytes, begins: Iterable[int]) -> Iterator[Family]:
    """Layers of one pattern as few families; each of `begins` is in one of them.

    >>> pages = BlockBytes(offset=0, block_stride=64, num_blocks=4, dims=(), run=64)
    >>> [(found.begin, found.step, found.num_layers) for found in families(pages, [0, 8, 16, 24, 100])]
    [(0, 8, 4), (100, 0, 1)]
    """
    begin, step, count = -1, 0, 0
    for at in sorted(begins):
        if count > 1 and at == begin + count * step:
            count += 1
        elif count == 1:
            step, count = at - begin, 2
        else:
            if count:
                yield Family(alike, begin, step, count)
            begin, step, count = at, 0, 1
    if count:
        yield Family(alike, begin, step, count)


def hull(members: Sequence[BlockBytes]) -> BlockBytes:
    """Blocks that cover those of all members, whose blocks are equally far apart.

    Where hulls keep different blocks apart, so do their members.
    """
    begin = min(one.offset for one in members)
    run = max(one._replace(num_blocks=1).end for one in members) - begin
    return BlockBytes(begin, members[0].block_stride, max(one.num_blocks for one in members), (), run)


def side_by_side(patterns: Sequence[BlockBytes]) -> Iterator[tuple[int, int]]:
    """The pairs, by place, whose extents overlap, each pattern with itself among them; the first begins no later."""
    active: list[int] = []
    for this in sorted(range(len(patterns)), key=lambda place: patterns[place].offset):
        active = [other for other in active if patterns[other].end > patterns[this].offset]
        active.append(this)
        yield from ((other, this) for other in active)
