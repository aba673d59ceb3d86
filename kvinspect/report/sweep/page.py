"""A sweep as a page: one row a point, with a bar for the requests that fit at once."""

from __future__ import annotations

from kvinspect.planning.sweep import Point, SweepAnswer
from kvinspect.report.fold import human_bytes, title_of
from kvinspect.report.page import Block, Heading, Item, Page, Paragraph, Span, Spans, Table, cell, spans

NUMBERS = ("blocks", "tokens", "at once", "a token", "a request", "")
BAR = 24
"""Characters of the longest bar."""


def page(answer: SweepAnswer) -> Page:
    """The page of a sweep."""
    setting = answer.setting
    name = Span(title_of(setting.source), "strong")
    title = spans(name, f"   vLLM {setting.engine} · {setting.platform} · {len(answer.points):,} plans")
    most = max((point.max_concurrency or 0.0 for point in answer.points), default=0.0)
    names = tuple(axis.name for axis in answer.axes)
    rows = tuple(_row(point, most) for point in answer.points)
    blocks: list[Block] = [Heading(title), Table((*names, *NUMBERS), rows)]
    refused = dict.fromkeys(point.refusal for point in answer.points if point.refusal)
    blocks += [Item("✗", spans(f"{text}.")) for text in list(refused)[:5]]
    blocks.append(Paragraph(spans(Span(f"Memory for the cache of a worker: {answer.memory}.", "dim"))))
    return Page(tuple(blocks))


def _row(point: Point, most: float) -> tuple[tuple[Spans, ...], ...]:
    values = tuple(cell(f"{value:,}" if isinstance(value, int) else str(value)) for value in point.values.values())
    if point.max_concurrency is None:
        word = Span("refused", "bad") if point.refusal else "no limit"
        return (*values, cell(word), *(cell("") for _ in NUMBERS[1:]))
    length = round(BAR * point.max_concurrency / most) if most else 0
    fixed = human_bytes(point.fixed_bytes) if point.fixed_bytes else "0"
    return (
        *values,
        cell(f"{point.num_blocks:,}"),
        cell(f"{point.num_tokens:,}"),
        cell(f"{point.max_concurrency:,.2f}"),
        cell(f"{point.bytes_per_token:,.0f} bytes"),
        cell(fixed),
        cell(Span("█" * length or "▏", "good")),
    )
