"""The width of a terminal, and tables in it: which columns stay, which leave, which of those that stay fold."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import IO, NamedTuple

from rich.cells import cell_len

from kvinspect.output.safe import safe
from kvinspect.report.page_parts import Cell, Span, Spans, Table

WIDEST_PROSE = 60
"""Terminal columns of a cell of running text, however wide the terminal is."""

LEAST = {"prose": 22, "names": 30}
"""Kind of column → terminal columns that its cells take at least before another column leaves."""

NARROWEST_NAMES = 15
"""Terminal columns of names below which other columns give room too."""

_FIXED = re.compile(r"[^{0-9]*")
_WHOLE_WORDS = re.compile(r"(?:.*\.)?(?=layers\.$)|.*\.|")
_BREAKS_OF = {
    "names": re.compile(r"[^.,]*[.,]?"),
    "prose": re.compile(r"[^·]*(?:· ?)?"),
    "fact": re.compile(r"[^_ ]*[_ ]?"),
}
"""Kind of column → the parts of a text that stay together on a line."""


NARROWEST, WIDEST = 40, 1000
"""Columns of a terminal that are believed."""


def terminal_width(stream: IO[str]) -> int | None:
    """Columns of the terminal behind a stream, None where there is no terminal. COLUMNS wins where it is set."""
    columns = os.environ.get("COLUMNS", "")
    if re.fullmatch("[1-9][0-9]{0,5}", columns):
        return _between(int(columns))
    try:
        return _between(os.get_terminal_size(stream.fileno()).columns) if stream.isatty() else None
    except (OSError, ValueError):
        return None


def _between(columns: int) -> int:
    """Columns that a table can be set in."""
    return max(NARROWEST, min(columns, WIDEST))


class Fitted(NamedTuple):
    """A table as it is set, and what is said beside it."""

    table: Table
    widths: tuple[int, ...]
    """Terminal columns of each column's cells."""

    prefix: str
    """What every layer name began with and is shown without, "" where names are whole."""

    hidden: tuple[str, ...]
    """Columns that have left, in the order of the table."""


def fitted(table: Table, width: int | None) -> Fitted:
    """The table as it is set in a width; None is a width without end.

    Running text folds wherever it is long on a terminal. What is tried next, until the table fits: layer names lose
    what all of them begin with, columns leave in the order of `Column.leaves`, the highest first, names fold, and at
    last every cell.
    """
    if width is None:
        return Fitted(table, _natural(table, None), "", ())
    natural = _natural(table)
    if total(natural) <= width:
        return Fitted(table, natural, "", ())
    prefix = _common_prefix(table)
    shorter = _without_prefix(table, prefix)
    while total(_least(shorter)) > width:
        leaving = max(range(len(shorter.columns)), key=lambda i: shorter.columns[i].leaves)
        if not shorter.columns[leaving].leaves:
            break
        shorter = _dropped(shorter, leaving)
    widths = _spread(shorter, width)
    hidden = tuple(column.name for column in table.columns if column not in shorter.columns)
    named = any(column.kind == "names" for column in shorter.columns)
    return Fitted(_with_broken_names(shorter, widths), widths, prefix if named else "", hidden)


def total(widths: Sequence[int]) -> int:
    """Terminal columns of a table with cells of these widths, its lines included."""
    return sum(widths) + 3 * len(widths) + 1


def needed(table: Table) -> int:
    """Terminal columns of the whole table."""
    return total(_natural(table))


def _natural(table: Table, prose: int | None = WIDEST_PROSE) -> tuple[int, ...]:
    """Terminal columns of each column's longest line; running text folds at `prose`, None never."""
    widths = []
    for i, column in enumerate(table.columns):
        longest = max((_length(line) for row in table.rows for line in row[i]), default=0)
        longest = min(longest, prose) if prose and column.kind == "prose" else longest
        widths.append(max(cell_len(column.name), longest))
    return tuple(widths)


def _least(table: Table) -> tuple[int, ...]:
    """Terminal columns of each column with running text and names as narrow as they are set."""
    pairs = zip(table.columns, _natural(table), strict=True)
    return tuple(min(natural, max(cell_len(one.name), LEAST.get(one.kind, natural))) for one, natural in pairs)


def _spread(table: Table, width: int) -> tuple[int, ...]:
    """The width of each column: what is left over goes to names, then to text; what is missing the widest give."""
    widths, natural = list(_least(table)), _natural(table)
    for kind in ("names", "prose"):
        for i, column in enumerate(table.columns):
            if column.kind == kind:
                widths[i] += max(0, min(natural[i] - widths[i], width - total(widths)))
    named = [i for i, column in enumerate(table.columns) if column.kind == "names"]
    while total(widths) > width and max(widths) > 1:
        # Names break behind any dot, and what stands beside them as it is would be cut within a word.
        wide = [i for i in named if widths[i] > NARROWEST_NAMES] or range(len(widths))
        widths[max(wide, key=lambda i: widths[i])] -= 1
    return tuple(widths)


def _with_broken_names(table: Table, widths: Sequence[int]) -> Table:
    """The table with names that are wider than their column on several lines, broken behind dots and commas.

    Facts in a row (`blocks 512 · heads 8`) are broken between two of them.
    """

    def lines(cell: Cell, width: int, breaks: re.Pattern[str]) -> Cell:
        return tuple(part for line in cell for part in (_broken(line, width, breaks) if len(line) == 1 else (line,)))

    breaks = [_BREAKS_OF.get(column.kind) for column in table.columns]
    rows = (
        tuple(lines(cell, width, at) if at else cell for cell, width, at in zip(row, widths, breaks, strict=True))
        for row in table.rows
    )
    return table._replace(rows=tuple(rows))


def _broken(line: Spans, width: int, breaks: re.Pattern[str]) -> Cell:
    parts = [""]
    for word in filter(None, breaks.findall(line[0].text)):
        if parts[-1] and cell_len(safe((parts[-1] + word).rstrip())) > width:
            parts.append("")
        parts[-1] += word
    return tuple((Span(part.rstrip(), line[0].style),) for part in parts)


def _length(line: Spans) -> int:
    return sum(cell_len(safe(span.text)) for span in line)


def _names(table: Table) -> Iterator[Spans]:
    """The cells' lines that are layer names."""
    for i, column in enumerate(table.columns):
        if column.kind == "names":
            yield from (line for row in table.rows for line in row[i] if _is_name(line))


def _is_name(line: Spans) -> bool:
    return len(line) == 1 and line[0].style == "plain" and bool(line[0].text)


def _common_prefix(table: Table) -> str:
    """The dotted words that every layer name begins with, up to `layers`.

    `decoder.model.layers.{0..61}.attn` and `decoder.model.layers.62.attn` begin with `decoder.model.`.
    """
    fixed = [found[0] for line in _names(table) if (found := _FIXED.match(line[0].text))]
    words = _WHOLE_WORDS.match(_shared(fixed))
    return words[0] if words else ""


def _shared(texts: Sequence[str]) -> str:
    """What all texts begin with."""
    first, last = min(texts, default=""), max(texts, default="")
    pairs = enumerate(zip(first, last, strict=False))
    return next((first[:i] for i, (one, other) in pairs if one != other), first)


def _without_prefix(table: Table, prefix: str) -> Table:
    def shorter(line: Spans) -> Spans:
        return (Span(line[0].text[len(prefix) :]),) if _is_name(line) else line

    kinds = [column.kind for column in table.columns]
    rows = (
        tuple(tuple(map(shorter, cell)) if kinds[i] == "names" else cell for i, cell in enumerate(row))
        for row in table.rows
    )
    return table._replace(rows=tuple(rows)) if prefix else table


def _dropped(table: Table, index: int) -> Table:
    rows = (row[:index] + row[index + 1 :] for row in table.rows)
    return table._replace(columns=table.columns[:index] + table.columns[index + 1 :], rows=tuple(rows))
