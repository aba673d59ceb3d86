"""The bytes that a block of a view covers, as few contiguous runs as there are.

Block `b` covers `offset + b·block_stride + Σ cₖ·strideₖ + [0, run)` with every `0 ≤ cₖ < countₖ`: a pattern of runs
that repeats from block to block. All numbers are bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import NamedTuple

from kvinspect.geometry.view import StridedView

Dims = tuple[tuple[int, int], ...]


MAX_RUNS = 300_000
"""Runs of one block that are listed."""


class Intricate(Exception):
    """A pattern of bytes in too many pieces: going through them takes too long."""


class BlockBytes(NamedTuple):
    """The bytes of each of `num_blocks` blocks; `dims` are (count, stride) of the runs of `run` bytes in a block."""

    offset: int
    block_stride: int
    num_blocks: int
    dims: Dims
    run: int

    def runs(self, block: int) -> list[tuple[int, int]]:
        """[start, end) of the runs of one block, sorted and joined where they touch. Raises Intricate."""
        start = self.offset + block * self.block_stride
        starts = sorted(start + shift for shift in self._shifts())
        return _joined((first, first + self.run) for first in starts)

    def blocks_on(self, start: int, end: int) -> list[range]:
        """The blocks that touch a byte of [start, end), as ranges, one for each run of a block.

        >>> BlockBytes(offset=0, block_stride=8, num_blocks=4, dims=((2, 32),), run=8).blocks_on(30, 42)
        [range(3, 4), range(0, 2)]
        """
        found = []
        for shift in self._shifts():
            touched = self._blocks_of_run(self.offset + shift, start, end)
            if touched:
                found.append(touched)
        return found

    def _shifts(self) -> Iterator[int]:
        """Where the runs of a block begin, counted from its first."""
        if prod(count for count, _ in self.dims) > MAX_RUNS:
            raise Intricate(f"a block lies in more than {MAX_RUNS} pieces, which are too many to go through")
        return (sum(shift) for shift in product(*(range(0, n * s, s) for n, s in self.dims)))

    def _blocks_of_run(self, first: int, start: int, end: int) -> range:
        """The blocks of which the run that begins at `first` in block 0 touches [start, end)."""
        if self.block_stride == 0:
            return range(self.num_blocks) if first < end and start < first + self.run else range(0)
        least = max(0, (start - first - self.run) // self.block_stride + 1)
        most = min(self.num_blocks - 1, (end - 1 - first) // self.block_stride)
        return range(least, most + 1)

    @property
    def end(self) -> int:
        """The byte behind the last one of the last block."""
        if self.num_blocks == 0:
            return self.offset
        inner = sum((n - 1) * s for n, s in self.dims)
        return self.offset + (self.num_blocks - 1) * self.block_stride + inner + self.run


def block_bytes(view: StridedView, block_dim: int, num_blocks: int, kernel_blocks: int = 1) -> BlockBytes:
    """The bytes of the block manager's blocks through a view.

    A block of the manager is `kernel_blocks` consecutive indices of `block_dim`; at most `num_blocks` are counted.

    >>> kv_first = StridedView.of_bytes(64).view((2, 4, 8))
    >>> block_bytes(kv_first, 1, 4).runs(1)
    [(8, 16), (40, 48)]
    """
    size = view.itemsize
    stride = view.stride[block_dim] * size
    inner = [(n, s * size) for d, (n, s) in enumerate(zip(view.shape, view.stride, strict=True)) if d != block_dim]
    dims, run = merged([*inner, (kernel_blocks, stride)], size)
    count = min(num_blocks, view.shape[block_dim] // kernel_blocks) if all(n for n, _ in inner) else 0
    return BlockBytes(view.storage_offset * size, stride * kernel_blocks, count, dims, run)


def merged(dims: Iterable[tuple[int, int]], run: int) -> tuple[Dims, int]:
    """(dims, run) that cover the same bytes with the fewest runs: dims that continue a run or each other are joined.

    >>> merged([(2, 128), (4, 16), (16, 1)], 1)
    (((2, 128),), 64)
    """
    kept: list[tuple[int, int]] = []
    for count, stride in sorted(dims, key=lambda dim: dim[1]):
        if count <= 1 or stride == 0:
            continue
        if stride <= run:
            run += (count - 1) * stride
        elif kept and stride == kept[-1][0] * kept[-1][1]:
            kept[-1] = (kept[-1][0] * count, kept[-1][1])
        else:
            kept.append((count, stride))
    return tuple(kept), run


def _joined(runs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for start, end in runs:
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def shared_bytes(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> tuple[int, int]:
    """(lowest byte, number of bytes) that two sorted lists of runs have in common; (-1, 0) where there is none.

    >>> shared_bytes([(0, 8), (16, 24)], [(4, 18)])
    (4, 6)
    """
    lowest, total, i, j = -1, 0, 0, 0
    while i < len(first) and j < len(second):
        start, end = max(first[i][0], second[j][0]), min(first[i][1], second[j][1])
        if start < end:
            lowest = start if lowest < 0 else lowest
            total += end - start
        if first[i][1] <= second[j][1]:
            i += 1
        else:
            j += 1
    return lowest, total
