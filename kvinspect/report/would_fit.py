"""The single changes with which a plan would fit, as blocks of its page."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.document.numbers import counted
from kvinspect.question.change import WouldFit
from kvinspect.report.page_parts import Block, Column, Paragraph, Span, Style, Table, cell, columns, spans

COLUMNS = columns("change", "result", Column("concurrent requests"))

SIGNS: dict[str, tuple[str, Style]] = {
    "fits": ("✓ fits", "good"),
    "tight": ("≈ tight", "changed"),
    "does not fit": ("✗ does not fit", "bad"),
}


def would_fit(changes: Sequence[WouldFit], of_a_shape: bool) -> tuple[Block, ...]:
    """The changes as a table, none where there are none."""
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
    return (Paragraph(spans("What would fit (each planned again):")), Table(COLUMNS, rows))


def requests_in_words(requests: tuple[float, float], max_model_len: int, of_a_shape: bool) -> str:
    """How many requests run at once: `1.2 to 1.5 of 32,768 tokens`, or so many of the shape that is asked about."""
    low, high = requests
    if of_a_shape:
        return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}"
    tokens = counted(max_model_len, "token", ",")
    return f"{low:,.1f} of {tokens}" if low == high else f"{low:,.1f} to {high:,.1f} of {tokens}"
