"""The proof: whether block i through one view and block j ≠ i through another ever share a byte.

Two runs meet exactly when their starts lie closer than their lengths. The starts of block i and block j differ by
`i·Sᵢ − j·Sⱼ + d`, where d runs over the differences of the runs within a block, so the question is whether
`i·Sᵢ − j·Sⱼ` falls into one of a few intervals, for two bounded integers: lattice points under a line, counted in
closed form. Nothing depends on how many blocks there are, and Python's integers have no largest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from kvinspect.geometry.lattice import smallest_pair
from kvinspect.geometry.runs import BlockBytes, Intricate, shared_bytes

Interval = tuple[int, int]

MAX_GAPS = 20_000
"""Ways in which two views may touch. Blocks-first views touch in one, K/V-first views in a few."""


class Meeting(NamedTuple):
    """Block `blocks[0]` of the first view and block `blocks[1]` of the second share `num_bytes` from `byte` on."""

    blocks: tuple[int, int]
    byte: int
    num_bytes: int

    @property
    def size(self) -> tuple[int, int, int]:
        """What makes one counterexample smaller than another: the larger block ID, then both, then the byte."""
        return max(self.blocks), sum(self.blocks), self.byte


@lru_cache(maxsize=65536)
def meeting(first: BlockBytes, second: BlockBytes) -> Meeting | None:
    """The smallest counterexample to `first` and `second` keeping different blocks apart, None where they do.

    Smallest is the one whose larger block ID is least. With the same view twice it tells whether the view overlaps
    itself.

    >>> pages = BlockBytes(offset=0, block_stride=64, num_blocks=4, dims=(), run=64)
    >>> halves = BlockBytes(offset=0, block_stride=32, num_blocks=4, dims=((2, 128),), run=32)
    >>> meeting(halves, pages)
    Meeting(blocks=(1, 0), byte=32, num_bytes=32)
    >>> meeting(pages, pages) is None
    True
    """
    blocks = smallest_blocks(first, second)
    if blocks is None:
        return None
    byte, count = shared_bytes(first.runs(blocks[0]), second.runs(blocks[1]))
    return Meeting(blocks, byte, count)


@lru_cache(maxsize=65536)
def smallest_blocks(first: BlockBytes, second: BlockBytes) -> tuple[int, int] | None:
    """The two different blocks of the smallest counterexample, None where there is none. Raises Intricate."""
    # The small gaps first: they have the small block IDs.
    found: tuple[int, int] | None = None
    bounds = (first.num_blocks, second.num_blocks)
    strides = (first.block_stride, second.block_stride)
    for low, high in sorted(gaps(first, second), key=lambda gap: max(gap[0], -gap[1])):
        pair = smallest_pair(strides, bounds, low, high)
        if pair is not None:
            found = pair
            bounds = (min(bounds[0], max(pair)), min(bounds[1], max(pair)))
    return found


def share(first: BlockBytes, second: BlockBytes, blocks: tuple[int, int]) -> bool:
    """Whether a block of `first` and a block of `second`, the same or another, have a byte in common."""
    one, other = (
        pattern._replace(offset=pattern.offset + block * pattern.block_stride, num_blocks=1)
        for pattern, block in zip((first, second), blocks, strict=True)
    )
    return any(low <= 0 <= high for low, high in gaps(one, other))


def gaps(first: BlockBytes, second: BlockBytes) -> list[Interval]:
    """Sorted intervals of the values of `i·Sᵢ − j·Sⱼ` at which block i of `first` and block j of `second` meet.

    Only those that the blocks' numbers can reach. Raises Intricate where there are more than MAX_GAPS.
    """
    shift = second.offset - first.offset
    low, high = shift - first.run + 1, shift + second.run - 1
    apart: list[tuple[int, int, int]] = []
    for stride, (least, most) in sorted(_differences(first, second).items()):
        if stride <= high - low + 1:
            low, high = low - most * stride, high - least * stride
        else:
            apart.append((stride, least, most))
    reach = (low - (first.num_blocks - 1) * first.block_stride, high + (second.num_blocks - 1) * second.block_stride)
    sums = list(islice(_sums(apart[::-1], *reach), MAX_GAPS + 1))
    if len(sums) > MAX_GAPS:
        raise Intricate(f"two views touch in more than {MAX_GAPS} ways, which are too many to go through")
    return list(_united(sorted((low - total, high - total) for total in sums)))


def _sums(dims: Sequence[tuple[int, int, int]], low: int, high: int) -> Iterator[int]:
    """The sums within [low, high] of a multiple of each (stride, least, most), the largest stride first.

    What the smaller strides can still add bounds the multiples of the larger, so where strides are nested, as in any
    view that does not overlap itself, few are tried in vain.
    """
    if not dims:
        if low <= 0 <= high:
            yield 0
        return
    (stride, least, most), *rest = dims
    smallest = sum(one * down for one, down, _ in rest)
    largest = sum(one * up for one, _, up in rest)
    for count in range(max(least, -((largest - low) // stride)), min(most, (high - smallest) // stride) + 1):
        shift = count * stride
        yield from (shift + total for total in _sums(rest, low - shift, high - shift))


def _differences(first: BlockBytes, second: BlockBytes) -> dict[int, tuple[int, int]]:
    """Stride → (least, most) of how many of it the first view's run may lie behind the second's."""
    spans: dict[int, tuple[int, int]] = {}
    for count, stride in first.dims:
        least, most = spans.get(stride, (0, 0))
        spans[stride] = (least, most + count - 1)
    for count, stride in second.dims:
        least, most = spans.get(stride, (0, 0))
        spans[stride] = (least - count + 1, most)
    return spans


def _united(intervals: list[Interval]) -> Iterator[Interval]:
    """Sorted intervals with those that touch or overlap made one."""
    current: Interval | None = None
    for low, high in intervals:
        if current is None:
            current = (low, high)
        elif low <= current[1] + 1:
            current = (current[0], max(high, current[1]))
        else:
            yield current
            current = (low, high)
    if current is not None:
        yield current
