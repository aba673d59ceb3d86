"""A failed start as a page: the failure and what to do, the changes that were tried, and the command."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvinspect.failed_starts.read import Found, LastStart
from kvinspect.question.tried import Tried
from kvinspect.report.page_parts import (
    Block,
    Cell,
    Column,
    Item,
    Page,
    Paragraph,
    Span,
    Style,
    Table,
    cell,
    columns,
    spans,
)
from kvinspect.report.would_fit import without

MOST = 5
"""Warnings and unknown errors that are shown; JSON has all."""

SIGNS: dict[str, tuple[str, Style]] = {
    "starts": ("✓ starts", "good"),
    "may start": ("≈ may start", "changed"),
    "does not start": ("✗ does not start", "bad"),
    "not planned": ("? not planned", "changed"),
}


class Planned(NamedTuple):
    """What was planned of a log's flags."""

    command: Sequence[str] = ()
    """The words of the log's start."""
    again: Tried | None = None
    tried: Sequence[Tried] = ()
    not_planned: str = ""
    left_out: Sequence[str] = ()


def page(start: LastStart, planned: Planned) -> Page:
    """The verdict, then each failure in two sentences, then the changes."""
    blocks: list[Block] = [Paragraph(spans(_verdict(start)))]
    facts = [start.log.source.rsplit("/", 1)[-1], f"vLLM {start.log.release}" if start.log.release else ""]
    facts.append(start.arguments.model or "")
    blocks.append(Paragraph(spans(Span(" · ".join(filter(None, facts)), "dim"))))
    for position, found in enumerate(start.failures):
        blocks += _failure(found, said=position == 0)
    if not start.failures and not start.started:
        for line in start.other_errors[:MOST]:
            blocks.append(Item("?", spans(f"line {line.number}: ", Span(line.text, "strong"))))
    for line in start.warnings[:MOST]:
        blocks.append(Item("!", spans(f"line {line.number}: {line.meaning}")))
    return Page((*blocks, *_planned(planned, bool(start.failures))))


def _verdict(start: LastStart) -> Span:
    if start.failures:
        first = start.failures[0]
        whose = "while the draft model is loaded: " if first.draft else ""
        return Span(f"✗ Did not start: {whose}{_reason(first)}", "bad")
    if start.started:
        size = start.log.num_tokens
        return Span(f"✓ Started{f': {size:,} tokens of KV cache' if size is not None else ''}.", "good")
    if start.other_errors:
        return Span("? Unknown: the log has errors, and none that kvinspect knows.", "changed")
    if start.warnings:
        return Span("! Changed: the engine does not run as requested.", "changed")
    return Span("? Unknown: no line of this log tells of a start that failed or succeeded.", "changed")


def _reason(found: Found) -> str:
    return found.line.meaning.partition(": ")[2]


def _failure(found: Found, said: bool) -> Iterator[Block]:
    """The line, why it stops the engine unless the verdict has said so, and what to do."""
    yield Item("✗", spans(f"line {found.line.number}: ", Span(found.line.text, "strong")))
    yield Item("→", spans(found.remedy if said else f"{_sentence(_reason(found))} {found.remedy}"))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _planned(planned: Planned, failed: bool) -> Iterator[Block]:
    if planned.left_out and planned.again:
        yield Item("!", spans(f"Arguments of the log that are left out: {', '.join(planned.left_out)}."))
    if planned.again is not None:
        yield Paragraph(
            spans("Planned again with the flags of the log: ", Span(*SIGNS[planned.again.result]), _why(planned.again))
        )
    if planned.tried and planned.again:
        helps = any(one.result in ("starts", "may start") for one in planned.tried)
        yield Paragraph(spans("What would start (each planned again):" if helps else "Tried (each planned again):"))
        yield Table(columns("change", "result", Column("why", "prose", 1)), tuple(map(_row, planned.tried)))
    elif planned.tried:
        yield Paragraph(spans("To try: ", Span(", ".join(one.flags for one in planned.tried), "strong")))
    if planned.not_planned and failed:
        yield Item("!", spans(f"Nothing was planned: {planned.not_planned}"))
    first = next((one.flags for one in planned.tried if one.result in ("starts", "may start")), "")
    if planned.command and first:
        line = shlex.join(without(planned.command, first.split()))
        yield Paragraph(spans("Start it: ", Span(f"vllm serve {line} {first}", "strong")))


def _why(tried: Tried) -> str:
    return f" ({tried.why})" if tried.why else ""


def _row(one: Tried) -> tuple[Cell, ...]:
    many = f"{one.concurrency:,.2f} concurrent requests of the maximum length" if one.concurrency is not None else ""
    return cell(Span(one.flags, "strong")), cell(Span(*SIGNS[one.result])), cell(one.why or many)
