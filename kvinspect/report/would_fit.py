"""The single changes with which a plan would fit, as blocks of its page."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from kvinspect.document.numbers import counted, ranged
from kvinspect.question.change import WouldFit
from kvinspect.report.page_parts import Block, Column, Paragraph, Span, Style, Table, cell, columns, spans

MOST_WORDS = 40
"""Words of a call that is shown again."""

COLUMNS = columns("change", "result", Column("concurrent requests"))

SIGNS: dict[str, tuple[str, Style]] = {
    "fits": ("✓ fits", "good"),
    "tight": ("≈ tight", "changed"),
    "does not fit": ("✗ does not fit", "bad"),
}


def would_fit(changes: Sequence[WouldFit], of_a_shape: bool, words: Sequence[str] = ()) -> tuple[Block, ...]:
    """The changes as a table, none where there are none, and the call with the first one, whose words are given."""
    if not changes:
        return ()
    rows = tuple(
        (
            cell(Span(one.change.flags, "strong")),
            cell(Span(*SIGNS[one.verdict])),
            cell(requests_in_words(one.requests, one.max_model_len, of_a_shape)),
        )
        for one in changes
    )
    first = next((one.change.flags for one in changes if not one.change.model), "")
    call = (
        f"kvinspect {shlex.join(without(words, first.split()))} {first}"
        if words and first and len(words) <= MOST_WORDS
        else ""
    )
    tried = (Paragraph(spans("Try: ", Span(call, "strong"))),) if call else ()
    return (Paragraph(spans("What would fit (each planned again):")), Table(COLUMNS, rows), *tried)


def without(words: Sequence[str], flags: Sequence[str]) -> list[str]:
    """The words without the flags that a change gives another value."""
    given = [i for i, word in enumerate(words) if word.startswith("-") and word in flags]
    left_out = {at for i in given for at in (i, i + 1)}
    equal = tuple(f"{flag}=" for flag in flags if flag.startswith("--"))
    return [word for i, word in enumerate(words) if i not in left_out and not (equal and word.startswith(equal))]


def requests_in_words(requests: tuple[float, float], max_model_len: int, of_a_shape: bool) -> str:
    """How many requests run at once: `1.2–1.5 of 32,768 tokens`, or so many of the shape that is asked about."""
    low, high = requests
    if of_a_shape:
        return "–".join(dict.fromkeys((f"{low:,.0f}", f"{high:,.0f}")))
    return f"{ranged(low, high)} of {counted(max_model_len, 'token', ',')}"
