"""A verdict that leaves out what was given: `≤` or `≈` in place of `✓`, and behind it what is not counted."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.document.not_modelled import NotModelled
from kvinspect.report.page_parts import Span, Spans


def qualified(verdict: Spans, left_out: Sequence[NotModelled], bounded: bool = False) -> Spans:
    """The verdict with what is left out of it; unchanged where nothing is.

    A `✓` becomes `≤` where the verdict is a number or a mode that is `bounded` by what is modelled, else `≈`.
    """
    if not left_out:
        return verdict
    sign = "≤" if bounded and all(one.at_most for one in left_out) else "≈"
    signed = (_signed(span, sign) for span in verdict)
    return (*signed, Span(note(left_out)))


def note(left_out: Sequence[NotModelled]) -> str:
    """What is left out, to be written behind a verdict or a title; empty where nothing is."""
    return f"; not counted: {names(left_out)}" if left_out else ""


def names(left_out: Sequence[NotModelled]) -> str:
    """What is left out, each once."""
    return "; ".join(dict.fromkeys(one.what for one in left_out))


def _signed(span: Span, sign: str) -> Span:
    return Span(sign + span.text[1:], "changed") if span.text.startswith("✓") else span
