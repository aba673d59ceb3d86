"""Which positions of a placeholder are embedded, as runs, however the document writes it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from kvinspect.document.model import PlaceholderEntry

Run = tuple[int, int]
"""First and last position of a run, both in it, counted from the start of the placeholder."""


def runs(placeholder: PlaceholderEntry) -> list[Run]:
    """The runs of embedded positions in order; the whole placeholder where it has no mask.

    As `PlaceholderRange.extract_embeds_range`: an empty placeholder without a mask is the run (0, -1), and a mask of
    another length than its placeholder counts as it stands.
    """
    mask = placeholder.is_embed
    if mask is None:
        return [(0, placeholder.length - 1)]
    if isinstance(mask, str):
        return _merged(_written_runs(mask))
    if _is_flags(mask):
        return _merged((bool(flag), len(list(same))) for flag, same in groupby(mask))
    return _of_indices(mask)


def mask_length(placeholder: PlaceholderEntry) -> int:
    """Positions that the mask speaks of; a list of indices speaks up to the last."""
    mask = placeholder.is_embed
    if mask is None:
        return placeholder.length
    if isinstance(mask, str):
        return sum(length for _, length in _written_runs(mask))
    if _is_flags(mask):
        return len(mask)
    return max(placeholder.length, mask[-1] + 1)


def _is_flags(mask: Sequence[bool] | Sequence[int]) -> bool:
    return not mask or isinstance(mask[0], bool)


def _written_runs(text: str) -> Iterator[tuple[bool, int]]:
    """`3x0 256x1` as (whether embedded, how many)."""
    for word in text.split():
        length, _, flag = word.partition("x")
        yield flag == "1", int(length)


def _merged(pieces: Iterator[tuple[bool, int]]) -> list[Run]:
    """The embedded pieces, those that touch as one run."""
    out: list[Run] = []
    at = 0
    for embedded, length in pieces:
        if embedded and length:
            _append(out, (at, at + length - 1))
        at += length
    return out


def _of_indices(indices: Sequence[int]) -> list[Run]:
    out: list[Run] = []
    for index in indices:
        _append(out, (index, index))
    return out


def _append(out: list[Run], run: Run) -> None:
    if out and out[-1][1] == run[0] - 1:
        out[-1] = (out[-1][0], run[1])
    else:
        out.append(run)
