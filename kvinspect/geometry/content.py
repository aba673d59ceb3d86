"""Where in a block each element lies, and whether two views agree on it.

A block holds regions (K, V, a state); in a region an element has coordinates (token, head, element), and its byte is
`start + Σ digits·strides`, each coordinate being written in digits of its own: token 5 of a block of two kernel blocks
of 4 tokens is kernel block 1, token 1. All positions and strides are bytes from where the block begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import NamedTuple

from kvinspect.geometry.runs import MAX_RUNS, BlockBytes, Intricate

Digits = tuple[tuple[int, int], ...]
"""(count, stride in bytes) of each digit of a coordinate, the outermost first."""


class Region(NamedTuple):
    """Elements of one kind in a block, `itemsize` bytes each."""

    start: int
    coordinates: tuple[Digits, ...]
    itemsize: int

    @property
    def counts(self) -> tuple[int, ...]:
        """How many values each coordinate has."""
        return tuple(prod(count for count, _ in digits) for digits in self.coordinates)

    def byte_of(self, place: tuple[int, ...]) -> int:
        """The first byte of the element at these coordinates.

        >>> Region(64, (((2, 256), (4, 8)), ((8, 1),)), 1).byte_of((5, 3))
        331
        """
        return self.start + sum(map(_shift, self.coordinates, place))

    def at(self, byte: int) -> tuple[int, ...] | None:
        """The coordinates of the element that covers a byte, None where none is found.

        Where strides do not nest, an element may cover the byte all the same; then no coordinates are claimed.

        >>> Region(64, (((2, 256), (4, 8)), ((8, 1),)), 1).at(331)
        (5, 3)
        """
        rest, found = byte - self.start, [[0] * len(digits) for digits in self.coordinates]
        every = [(s, n, c, d) for c, digits in enumerate(self.coordinates) for d, (n, s) in enumerate(digits) if s]
        for stride, count, coordinate, digit in sorted(every, reverse=True):
            found[coordinate][digit] = value = min(max(rest, 0) // stride, count - 1)
            rest -= value * stride
        place = tuple(_number(digits, values) for digits, values in zip(self.coordinates, found, strict=True))
        return place if 0 <= rest < self.itemsize else None


Content = Mapping[str, Region]
"""The regions of a block by name."""


class Moved(NamedTuple):
    """An element that lies elsewhere: in one view at `byte`, in the other at `other_byte`."""

    region: str
    place: tuple[int, ...]
    byte: int
    other_byte: int


def first_moved(content: Content, other: Content) -> Moved | None:
    """The element with the lowest byte in `content` that lies at another byte in `other`, None where none does.

    Both have regions of the same names and sizes, and no stride is negative. Since the byte grows with every
    coordinate, an element that moves lies no lower than one that moves by a single coordinate; so those are all that
    is gone through. Raises Intricate where that are too many.

    >>> rows, columns = (Region(0, (((2, s),), ((2, t),)), 1) for s, t in ((2, 1), (1, 2)))
    >>> first_moved({"K": rows}, {"K": columns})
    Moved(region='K', place=(0, 1), byte=1, other_byte=2)
    """
    found = [_first_of(name, region, other[name]) for name, region in content.items()]
    return min((moved for moved in found if moved), key=lambda moved: moved.byte, default=None)


def _first_of(name: str, region: Region, other: Region) -> Moved | None:
    nowhere = (0,) * len(region.coordinates)
    if 0 in region.counts:
        return None
    if region.start != other.start:
        return Moved(name, nowhere, region.start, other.start)
    places = [
        (*nowhere[:c], value, *nowhere[c + 1 :])
        for c, pair in enumerate(zip(region.coordinates, other.coordinates, strict=True))
        if (value := _lowest_difference(*pair)) is not None
    ]
    if not places:
        return None
    place = min(places, key=region.byte_of)
    return Moved(name, place, region.byte_of(place), other.byte_of(place))


def _lowest_difference(digits: Digits, other: Digits) -> int | None:
    """The value of a coordinate whose shift is the least of those that the two do not agree on."""
    if joined(digits) == joined(other):
        return None
    count = prod(n for n, _ in digits)
    if count > MAX_RUNS:
        raise Intricate(f"a block has {count} places along one coordinate, which are too many to go through")
    return min(
        (value for value in range(count) if _shift(digits, value) != _shift(other, value)),
        key=lambda value: _shift(digits, value),
        default=None,
    )


def joined(digits: Digits) -> Digits:
    """The same coordinate in the fewest digits, which are the same for any two ways to write it.

    >>> joined(((2, 64), (1, 7), (4, 16)))
    ((8, 16),)
    """
    kept: list[tuple[int, int]] = []
    for count, stride in reversed(digits):
        if count == 1:
            continue
        if kept and stride == kept[-1][0] * kept[-1][1]:
            kept[-1] = (kept[-1][0] * count, kept[-1][1])
        else:
            kept.append((count, stride))
    return tuple(reversed(kept))


def gathered(content: Content, block: BlockBytes) -> Content:
    """The content when the runs of a block are put one behind the other, as a copy of its bytes holds them.

    `block` are the bytes of the same blocks. Where runs overlap, which no copy can mend, it is left as it is.

    >>> block = BlockBytes(offset=0, block_stride=8, num_blocks=4, dims=((2, 32),), run=8)
    >>> gathered({"V": Region(32, (((8, 1),),), 1)}, block)["V"].start
    8
    """
    reach = block.run
    for count, stride in block.dims:
        if stride < reach:
            return content
        reach = stride * (count - 1) + reach

    def squeezed(region: Region) -> Region:
        moved = tuple(tuple((n, _rank(s, block)) for n, s in digits) for digits in region.coordinates)
        return Region(_rank(region.start, block), moved, region.itemsize)

    return {name: squeezed(region) for name, region in content.items()}


def _rank(byte: int, block: BlockBytes) -> int:
    """How many bytes of a block lie below one of them."""
    dense = block.run * prod(count for count, _ in block.dims)
    rank = 0
    for count, stride in reversed(block.dims):
        dense //= count
        rank += byte // stride * dense
        byte %= stride
    return rank + byte


def _shift(digits: Digits, value: int) -> int:
    """How far a value of a coordinate lies from 0."""
    shift = 0
    for count, stride in reversed(digits):
        value, digit = divmod(value, count)
        shift += digit * stride
    return shift


def _number(digits: Digits, values: list[int]) -> int:
    number = 0
    for (count, _), value in zip(digits, values, strict=True):
        number = number * count + value
    return number
