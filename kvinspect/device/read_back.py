"""The proof by experiment: write each block's ID through one view, read it back through the others.

An ID is written as bytes that are all the same, one of its base-256 digits at a time, so that it can be read at any
element size and any offset. To compare views, each writes its IDs over those of the ones before, and all are read: a
byte that two claim for different blocks holds the wrong ID for one of them. Where all hold, no two clash; else they are
compared two by two. A view that does not hold even its own IDs is torn; `torn.py` says what it clashes with.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from kvinspect.device.torn import Piece, clash

CHUNK_BYTES = 256 * 2**20
"""How many bytes are compared at a time: what the comparison may need in extra memory is an eighth of it."""

COMPARED = 32
"""Views of an allocation that are compared two by two, the first ones. That any clash at all is seen of all."""

SOME: frozenset[str] = frozenset()
"""Among clashes: some of more than COMPARED views clash that each hold their own IDs."""

Progress = Callable[[int, int], None]
"""Told (bytes moved, bytes to move)."""


class PlacedLayer(NamedTuple):
    """A layer on an allocation."""

    label: str
    pieces: tuple[Piece, ...]


class Experiment(NamedTuple):
    """What was seen: pairs of labels of which different blocks share bytes, and how much was moved how fast."""

    clashes: frozenset[frozenset[str]]
    num_bytes: int
    seconds: float
    num_pairs: int

    @property
    def bytes_per_second(self) -> float:
        """The rate at which bytes were written and read."""
        return self.num_bytes / self.seconds if self.seconds else 0.0


def verify(
    allocations: Mapping[int, Sequence[PlacedLayer]], num_blocks: int, progress: Progress | None = None
) -> Experiment:
    """Compare every two layers on every allocation, and every layer with itself.

    Layers whose views are the same are one subject: give each view once.
    """
    plans = [_Bench(subjects, num_blocks) for subjects in allocations.values()]
    total = sum(plan.planned_bytes for plan in plans)
    clashes: set[frozenset[str]] = set()
    done, start = 0, time.perf_counter()
    for plan in plans:
        clashes.update(plan.run())
        done += plan.planned_bytes
        if progress:
            progress(done, total)
    _finish(allocations)
    seconds = time.perf_counter() - start
    moved = sum(one.moved for plan in plans for one in plan.stamped)
    return Experiment(frozenset(clashes), moved, seconds, sum(plan.num_pairs for plan in plans))


class _Bench:
    """The experiment on one allocation."""

    def __init__(self, subjects: Sequence[PlacedLayer], num_blocks: int) -> None:
        self.subjects, self.num_blocks = subjects, num_blocks
        self.stamped = [_Stamped(subject, num_blocks) for subject in subjects]
        self.digits = max(1, ((num_blocks - 1).bit_length() + 7) // 8)
        self.num_pairs = len(self.stamped) * (len(self.stamped) + 1) // 2

    @property
    def planned_bytes(self) -> int:
        """Bytes that will be written and read where nothing clashes: each view alone, and all together."""
        return 4 * sum(one.num_bytes for one in self.stamped) * self.digits

    def run(self) -> Iterable[frozenset[str]]:
        """The labels of each view, and each pair of views, whose block IDs do not read back as they were written."""
        torn = {one.label for one in self.stamped if not all(self._alone(one))}
        yield from (frozenset([label]) for label in torn)
        whole = [one for one in self.stamped if one.label not in torn]
        if not all(self._together(whole)):
            if len(whole) > COMPARED:
                yield SOME
            yield from self._two_by_two(whole[:COMPARED])
        for one, other in combinations(self.subjects[:COMPARED] if torn else (), 2):
            if (one.label in torn or other.label in torn) and clash(one.pieces, other.pieces, self.num_blocks):
                yield frozenset([one.label, other.label])

    def _two_by_two(self, whole: Sequence[_Stamped]) -> Iterator[frozenset[str]]:
        for digit in range(self.digits):
            for first, second in combinations(whole, 2):
                if not _keep_apart(first, second, digit):
                    yield frozenset([first.label, second.label])

    def _alone(self, one: _Stamped) -> Iterator[bool]:
        for digit in range(self.digits):
            one.write(digit)
            yield one.holds(digit)

    def _together(self, whole: Sequence[_Stamped]) -> Iterator[bool]:
        for digit in range(self.digits):
            for one in whole:
                one.write(digit)
            yield all(one.holds(digit) for one in whole)


def _keep_apart(first: _Stamped, second: _Stamped, digit: int) -> bool:
    """Whether neither view disturbs the other's IDs, tried in both orders."""
    second.write(digit)
    first.write(digit)
    intact = second.holds(digit)
    second.write(digit)
    return first.holds(digit) and intact


class _Stamped:
    """A layer's views as integers, the widest that they can be read as, cut to the manager's blocks."""

    def __init__(self, subject: PlacedLayer, num_blocks: int) -> None:
        self.label = subject.label
        self.pieces = [_integers(piece, num_blocks) for piece in subject.pieces]
        self.moved = 0

    @property
    def num_bytes(self) -> int:
        """Bytes that the views cover, those that they cover twice counted twice."""
        return sum(int(piece.tensor.nbytes) for piece in self.pieces)

    def write(self, digit: int) -> None:
        """Write a digit of its block ID into every block of the view."""
        for piece in self.pieces:
            piece.tensor.copy_(_ids(piece, digit).expand_as(piece.tensor))
        self.moved += self.num_bytes

    def holds(self, digit: int) -> bool:
        """Whether every block still reads as that digit of its ID."""
        # A comparison that fails stops somewhere on its way; only whole ones are counted as read.
        intact = all(_holds(piece, digit) for piece in self.pieces)
        self.moved += self.num_bytes if intact else 0
        return intact


def _holds(piece: Piece, digit: int) -> bool:
    from kvinspect.device.quiet import torch

    tensor, dim = piece.tensor, piece.block_dim
    ids = _ids(piece, digit).expand_as(tensor)
    count = tensor.shape[dim]
    block = max(1, int(tensor.nbytes) // max(count, 1))
    step = max(1, CHUNK_BYTES // block)
    chunks = ((at, min(step, count - at)) for at in range(0, count, step))
    return all(torch.equal(tensor.narrow(dim, at, n), ids.narrow(dim, at, n)) for at, n in chunks)


def _integers(piece: Piece, num_blocks: int) -> Piece:
    """The piece as integers; wider than its elements where its last dim allows, because fewer are faster."""
    from kvinspect.device.quiet import torch

    kinds = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    dim = piece.block_dim
    blocks = min(piece.tensor.shape[dim], num_blocks * piece.kernel_blocks)
    tensor = piece.tensor.narrow(dim, 0, blocks)
    if dim == tensor.dim() - 1:
        return piece._replace(tensor=tensor.view(kinds[tensor.element_size()]))
    for size in (8, 4, 2, 1):
        try:
            return piece._replace(tensor=tensor.view(kinds[size]))
        except RuntimeError:
            continue
    return piece._replace(tensor=tensor)


def _ids(piece: Piece, digit: int) -> Any:
    """A digit of each kernel block's manager block, all bytes of an element alike, shaped to be broadcast."""
    from kvinspect.device.quiet import torch

    tensor, dim = piece.tensor, piece.block_dim
    blocks = torch.arange(tensor.shape[dim], device=tensor.device) // piece.kernel_blocks
    byte = ((blocks >> (8 * digit)) & 255).to(torch.uint8)
    element = byte.unsqueeze(1).expand(-1, tensor.element_size()).contiguous().view(tensor.dtype)
    shape = [1] * tensor.dim()
    shape[dim] = tensor.shape[dim]
    return element.view(shape)


def _finish(allocations: Mapping[int, Sequence[PlacedLayer]]) -> None:
    """Wait for a device that works on its own, so that the clock is right."""
    from kvinspect.device.quiet import torch

    for subjects in allocations.values():
        for subject in subjects:
            if subject.pieces[0].tensor.is_cuda:
                torch.cuda.synchronize(subject.pieces[0].tensor.device)
            return
