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


Cell = tuple[Spans, ...]
"""A line of spans, or several lines."""


class Column(NamedTuple):
    """A column of a table."""

    name: str
    kind: Literal["fact", "number", "names", "prose"] = "fact"
    """Layer names and running text fold where a table is too wide; numbers stand at the right."""

    leaves: int = 0
    """Which column leaves a table that is too wide: the highest first, 0 never."""


class Table(NamedTuple):
    """Rows of cells under columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    ruled: bool = True
    """Whether lines are drawn around the cells; a sum of a few terms needs none."""


class Picture(NamedTuple):
    """Lines that are not wrapped."""

    lines: tuple[Spans, ...]


Block = Heading | Paragraph | Item | Table | Picture


class Page(NamedTuple):
    """A report: its blocks in order."""

    blocks: tuple[Block, ...] = ()


def columns(*names: str | Column) -> tuple[Column, ...]:
    """Columns of a table; a plain name is that of a column that neither folds nor leaves."""
    return tuple(Column(name) if isinstance(name, str) else name for name in names)


def cell(*lines: str | Span | Spans) -> Cell:
    """A cell of one or more lines."""
    return tuple(spans(line) if isinstance(line, (str, Span)) else line for line in lines)
