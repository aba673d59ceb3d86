"""A sweep as a page: one row a point, with a bar for the requests that fit at once."""

from __future__ import annotations

from collections.abc import Mapping

from kvinspect.document.numbers import counted, ranged
from kvinspect.planning.sweep import Point, SweepAnswer
from kvinspect.report.fold import human_bytes, title_of
from kvinspect.report.not_counted import qualified
from kvinspect.report.page_parts import (
    Block,
    Column,
    Heading,
    Item,
    Page,
    Paragraph,
    Span,
    Spans,
    Table,
    cell,
    columns,
    spans,
)

NUMBERS = columns(
    Column("concurrent requests", "number"),
    Column("bar", leaves=1),
    Column("tokens", "number"),
    Column("blocks", "number", leaves=2),
    Column("KiB/token", "number", leaves=3),
    Column("one request", leaves=4),
)
BAR = 16
"""Characters of the longest bar."""
NOTES = 8
"""Reasons of refusals that are written out."""


def page(answer: SweepAnswer) -> Page:
    """The page of a sweep."""
    setting = answer.setting
    name = Span(title_of(setting.source), "strong")
    title = spans(name, f" · vLLM {setting.engine} · {setting.platform} · {counted(len(answer.points), 'plan', ',')}")
    most = max((point.max_concurrency or 0.0 for point in answer.points), default=0.0)
    names = tuple(Column(axis.name, "number") for axis in answer.axes)
    refused = list(dict.fromkeys(point.refusal for point in answer.points if point.refusal))
    notes = {text: i + 1 for i, text in enumerate(refused)}
    rows = tuple(_row(point, most, notes) for point in answer.points)
    blocks: list[Block] = [
        Heading(qualified(_verdict(answer), answer.not_modelled, bounded=True)),
        Paragraph(title),
        Table((*names, *NUMBERS), rows),
    ]
    blocks += [Item(f"{i}", spans(f"{text}.")) for text, i in notes.items() if i <= NOTES]
    if len(notes) > NOTES:
        more = counted(len(notes) - NOTES, "more reason", ",")
        blocks.append(Paragraph(spans(f"{more}; --format json has all of them.")))
    for point in answer.points:
        if point.longest_request is not None:
            values = ", ".join(map(str, point.values.values()))
            text = f" {values}: requests of more than {point.longest_request:,} tokens wait forever."
            blocks.append(Item("!", spans(Span("never runs", "bad"), text)))
    blocks.append(Paragraph(spans(Span(f"KV cache memory of each GPU, {_memory(answer)}.", "dim"))))
    return Page(tuple(blocks))


def _verdict(answer: SweepAnswer) -> Spans:
    """How many of the plans start, and with which values the most requests run at once."""
    start = [point for point in answer.points if not point.refusal]
    limited = [point for point in start if point.max_concurrency is not None]
    if not start:
        return spans(Span("✗ None fits", "bad"), f" of {counted(len(answer.points), 'plan', ',')}")
    all_of = "All" if len(start) == len(answer.points) else f"{len(start):,} of"
    head = Span(f"✓ {all_of} {counted(len(answer.points), 'plan', ',')} fit", "good")
    if not limited:
        return spans(head)
    best = max(limited, key=lambda point: point.max_concurrency or 0.0)
    values = ", ".join(f"--{name.replace('_', '-')} {value}" for name, value in best.values.items())
    return spans(head, f"; most concurrent requests: {_requests(best)} with {values}")


def _requests(point: Point) -> str:
    """How many requests run concurrently, with no more digits than an estimate of the memory deserves."""
    requests = point.max_concurrency or 0.0
    estimated = (point.memory_how or "").startswith("estimated")
    return f"≈ {ranged(requests, requests)}" if estimated else f"{requests:,.2f}"


def _memory(answer: SweepAnswer) -> str:
    """Where the memory comes from, with its least and its most where it differs."""
    sizes = [point.memory for point in answer.points if point.memory is not None]
    ends = f"{human_bytes(min(sizes))} to {human_bytes(max(sizes))}, " if len(set(sizes)) > 1 else ""
    return ends + ("as given" if answer.memory == "given" else answer.memory)


def _row(point: Point, most: float, notes: Mapping[str, int]) -> tuple[tuple[Spans, ...], ...]:
    values = tuple(cell(f"{value:,}" if isinstance(value, int) else str(value)) for value in point.values.values())
    if point.max_concurrency is None:
        word = Span(f"refused {notes[point.refusal]}", "bad") if point.refusal else "no limit"
        return (*values, cell(word), *(cell("") for _ in NUMBERS[1:]))
    length = round(BAR * point.max_concurrency / most) if most else 0
    each = counted(point.blocks_per_request or 0, "block", ",")
    return (
        *values,
        cell(_requests(point)),
        cell(Span("█" * length or "▏", "good")),
        cell(f"{point.num_tokens:,}"),
        cell(f"{point.num_blocks:,}"),
        cell(f"{(point.bytes_per_token or 0) / 1024:,.4g}"),
        cell(f"{each}, {human_bytes(point.bytes_per_request or 0)}"),
    )
