"""The answer of `mm-prefix` as a page: the spans of each request, and its mask in characters."""

from __future__ import annotations

from collections.abc import Iterable

from kvinspect.document.limits import MAX_MASKS, MAX_SPANS
from kvinspect.document.numbers import counted
from kvinspect.mm_prefix.attention import Sight, sight
from kvinspect.mm_prefix.mm_prefix_answer import MMPrefixAnswer, RequestAnswer
from kvinspect.report.fold import title_of
from kvinspect.report.page_parts import (
    Block,
    Column,
    Heading,
    Item,
    Page,
    Paragraph,
    Picture,
    Span,
    Spans,
    Style,
    Table,
    cell,
    columns,
    spans,
)

COLUMNS = columns("feature", "tokens", "length", Column("attends", "prose"))
MOST_CELLS = 32
"""Cells of a mask in characters, each way; more tokens are drawn several to a cell."""

MARKS: dict[Sight, tuple[str, Style]] = {
    Sight.NOTHING: ("  ", "plain"),
    Sight.CUT: ("··", "dim"),
    Sight.CAUSAL: ("██", "dim"),
    Sight.BOTH_WAYS: ("▒▒", "changed"),
}


def page(answer: MMPrefixAnswer) -> Page:
    """The page of one answer."""
    blocks: list[Block] = [Heading(_verdict(answer)), Paragraph(_title(answer))]
    for i, request in enumerate(answer.requests[:MAX_MASKS]):
        blocks.extend(_request(i, request, answer.sliding_window))
    blocks.extend(_left_out(len(answer.requests) - MAX_MASKS, "request"))
    blocks.extend(
        Item("!", spans(Span("finding", "bad"), f" {found.where}: {found.text}"))
        for found in answer.findings[:MAX_SPANS]
    )
    blocks.extend(_left_out(len(answer.findings) - MAX_SPANS, "finding"))
    return Page(tuple(blocks))


def _verdict(answer: MMPrefixAnswer) -> Spans:
    found = [span for request in answer.requests for span in request.spans]
    both = sum(not span.skipped for span in found)
    sign = "✓" if both == len(found) else "↓"
    ranges = f"{both:,} of {counted(len(found), 'multimodal range', ',')} attend{'s' if both == 1 else ''}"
    return spans(Span(f"{sign} {ranges} bidirectionally", "good" if both == len(found) else "changed"))


def _title(answer: MMPrefixAnswer) -> Spans:
    window = f"sliding window of {answer.sliding_window}" if answer.sliding_window else "no sliding window"
    count = len(answer.requests)
    facts = (f"vLLM {answer.setting.engine}", window, f"{count} request" + ("" if count == 1 else "s"))
    return spans(Span(title_of(answer.setting.source), "strong"), " · " + " · ".join(facts))


def _left_out(count: int, what: str) -> Iterable[Block]:
    """What is said of those that are too many to be shown."""
    if count > 0:
        yield Paragraph(spans(f"{count} more {what}{'' if count == 1 else 's'}; --format json has all."))


def _request(index: int, request: RequestAnswer, window: int | None) -> Iterable[Block]:
    ranges = ", ".join(f"{first}–{last}" for first, last in request.ranges[:MAX_SPANS]) or "none"
    if len(request.ranges) > MAX_SPANS:
        ranges += f" and {len(request.ranges) - MAX_SPANS} more"
    title = spans("request ", Span(request.req_id, "strong"), f" ({index})")
    yield Heading(title, spans("bidirectional: ", Span(ranges, "good" if request.ranges else "dim")))
    if request.spans:
        yield Table(COLUMNS, tuple(_row(request, i) for i in range(min(len(request.spans), MAX_SPANS))))
        yield from _left_out(len(request.spans) - MAX_SPANS, "span")
    if request.num_tokens:
        yield picture(request, window)
        yield Paragraph(_legend(request, window))


def _row(request: RequestAnswer, index: int) -> tuple[tuple[Spans, ...], ...]:
    span = request.spans[index]
    first, last = span.range
    attends = cell(
        spans(Span("causally", "changed"), f": {span.skipped}") if span.skipped else Span("bidirectionally", "good")
    )
    name = f"{span.feature} {request.modalities[span.feature]}"
    return (cell(name), cell(f"{first}–{last}"), cell(str(last - first + 1)), attends)


def picture(request: RequestAnswer, window: int | None) -> Picture:
    """The mask: a row a query token, a column a key token, or several of them where there are many."""
    edges = cells(request.num_tokens)
    width = len(str(request.num_tokens - 1))
    lines = []
    for query in edges:
        near = [found for found in request.ranges if found[0] <= query[1] and query[0] <= found[1]]
        marks = [MARKS[sight(query, key, window, near)] for key in edges]
        lines.append(spans(Span(f"{query[0]:>{width}} ", "dim"), *(Span(text, style) for text, style in marks)))
    return Picture(tuple(lines))


def cells(num_tokens: int) -> list[tuple[int, int]]:
    """The tokens of each row and column of the mask, both ends in."""
    each = -(-num_tokens // MOST_CELLS)
    return [(at, min(at + each, num_tokens) - 1) for at in range(0, num_tokens, each)]


def _legend(request: RequestAnswer, window: int | None) -> Spans:
    each = -(-request.num_tokens // MOST_CELLS)
    scale = f" Each cell covers {each} × {counted(each, 'token')}." if each > 1 else ""
    parts: list[str | Span] = ["Attention mask: rows are query tokens, columns key tokens. "]
    parts += [Span("██", "dim"), " causal, ", Span("▒▒", "changed"), " bidirectional, inside a range"]
    parts += [", ", Span("··", "dim"), " outside the sliding window"] if window else []
    return spans(*parts, f".{scale}")
