"""What a report consists of, before anybody decides how it looks: headings, tables and paragraphs of styled spans."""

from __future__ import annotations

from typing import Literal, NamedTuple

Style = Literal[
    "plain", "strong", "dim", "good", "changed", "bad", "clash", "block0", "block1", "block2", "block3", "block4"
]  # fmt: skip
"""What a span means; a renderer may colour it, and the words say the same."""


class Span(NamedTuple):
    """A piece of text. It may be foreign: renderers escape it."""

    text: str
    style: Style = "plain"


Spans = tuple[Span, ...]


def spans(*parts: str | Span) -> Spans:
    """Plain words and spans as a line."""
    return tuple(Span(part) if isinstance(part, str) else part for part in parts)


class Heading(NamedTuple):
    """A line with something at its right end."""

    left: Spans
    right: Spans = ()


class Paragraph(NamedTuple):
    """Running text."""

    text: Spans


class Item(NamedTuple):
    """Running text behind a mark, set off from it."""

    mark: str
    text: Spans


class Table(NamedTuple):
    """Rows of cells; a cell is a line of spans, or several lines."""

    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[Spans, ...], ...], ...]


class Picture(NamedTuple):
    """Lines that are not wrapped."""

    lines: tuple[Spans, ...]


Block = Heading | Paragraph | Item | Table | Picture


class Page(NamedTuple):
    """A report: its blocks in order."""

    blocks: tuple[Block, ...] = ()


def cell(*lines: str | Span | Spans) -> tuple[Spans, ...]:
    """A cell of one or more lines."""
    return tuple(spans(line) if isinstance(line, (str, Span)) else line for line in lines)
