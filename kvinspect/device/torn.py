"""What a view clashes with that does not hold its own block IDs, because its own blocks share bytes.

Of such a view a byte belongs to several blocks. Its blocks are written one by one: upwards, so that each byte holds the
highest of its blocks, or downwards, for the lowest. Two views keep different blocks apart exactly where the highest of
the one is the lowest of the other, and the other way round, on every byte that both claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

BLOCKS = 256
"""Blocks of which a torn view is compared with others: as many as one byte tells apart."""


class Piece(NamedTuple):
    """One view of a layer: its tensor, the dim that counts kernel blocks, and how many make one of the manager's."""

    tensor: Any
    block_dim: int
    kernel_blocks: int


def clash(first: Sequence[Piece], second: Sequence[Piece], num_blocks: int) -> bool:
    """Whether among the first blocks of two views, BLOCKS at most, two different ones share a byte."""
    one, other = (_cut(pieces, min(num_blocks, BLOCKS)) for pieces in (first, second))
    return _differ(one, other, upwards=True) or _differ(one, other, upwards=False)


def _cut(pieces: Sequence[Piece], num_blocks: int) -> list[Piece]:
    """The pieces as integers, with a number of the manager's blocks."""
    from kvinspect.device.quiet import torch

    kinds = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    whole = [piece._replace(tensor=piece.tensor.view(kinds[piece.tensor.element_size()])) for piece in pieces]
    return [
        piece._replace(
            tensor=piece.tensor.narrow(piece.block_dim, 0, min(num_blocks, _num_blocks(piece)) * piece.kernel_blocks)
        )
        for piece in whole
    ]


def _differ(first: Sequence[Piece], second: Sequence[Piece], upwards: bool) -> bool:
    """Whether the highest (or lowest) block of the first differs from the lowest (or highest) of the second."""
    raw = _bytes([*first, *second])
    raw.zero_()
    for piece in second:
        for block in range(_num_blocks(piece)):
            _of(piece, block).fill_(-1)
    claimed = raw != 0
    _write(second, not upwards)
    before = raw.clone()
    _write(first, upwards)
    return bool(((before != raw) & claimed).any())


def _write(pieces: Sequence[Piece], upwards: bool) -> None:
    """Write each block's ID over its bytes, block by block."""
    blocks = range(max(map(_num_blocks, pieces)))
    for block in blocks if upwards else reversed(blocks):
        for piece in pieces:
            if block < _num_blocks(piece):
                _of(piece, block).fill_(_repeated(block, piece.tensor.element_size()))


def _num_blocks(piece: Piece) -> int:
    return int(piece.tensor.shape[piece.block_dim]) // piece.kernel_blocks


def _of(piece: Piece, block: int) -> Any:
    """A block of the manager's."""
    return piece.tensor.narrow(piece.block_dim, block * piece.kernel_blocks, piece.kernel_blocks)


def _repeated(block: int, size: int) -> int:
    """The signed number of which every byte is the block's ID.

    >>> _repeated(2, 2), _repeated(255, 4)
    (514, -1)
    """
    return int.from_bytes(bytes([block]) * size, "little", signed=True)


def _bytes(pieces: Sequence[Piece]) -> Any:
    """The allocation on which all pieces lie, byte by byte."""
    from kvinspect.device.quiet import torch

    storage = pieces[0].tensor.untyped_storage()
    return torch.empty(0, dtype=torch.int8, device=pieces[0].tensor.device).set_(storage)
