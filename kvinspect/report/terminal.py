"""A page in a terminal, a pipe or a file, by Rich.

Off a terminal a table takes the width that it needs; in one it is made to fit (`table_width.py`), and below 80 columns
it is a list. Nothing is ever cut off.
"""

from __future__ import annotations

import io
import os
from typing import IO, Literal

from rich import box
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from kvinspect.output.safe import safe
from kvinspect.report.page_parts import Block, Heading, Item, Page, Paragraph, Picture, Spans, Table
from kvinspect.report.table_width import Fitted, fitted, needed

STYLES = {
    "plain": "",
    "strong": "bold",
    "dim": "dim",
    "good": "green",
    "changed": "yellow",
    "bad": "red",
    "clash": "bold white on red",
    "block0": "black on cyan",
    "block1": "black on yellow",
    "block2": "black on green",
    "block3": "black on magenta",
    "block4": "black on blue",
}
PLAIN_WIDTH = 120
"""Columns of running text off a terminal."""

NARROWEST_TABLE = 80
"""Columns of a terminal below which a table that does not fit becomes a list."""

FALLBACKS = str.maketrans("→–·✓✗×—…•↓█▒≈≤±−", ">-|+xx-~*v#%~<~-")


def render(page: Page, *, width: int | None, colour: bool, encoding: str = "utf-8") -> str:
    """The page as text. `width` is the terminal's, None off a terminal; `colour` writes escape codes."""
    unicode = encoding.lower().replace("-", "").startswith("utf")
    out = io.StringIO()
    console = Console(
        file=out,
        width=width or 10_000,
        height=100,
        force_terminal=colour,
        color_system="standard" if colour else None,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
        safe_box=not unicode,
    )
    for previous, block in zip((None, *page.blocks), page.blocks, strict=False):
        if previous is not None and isinstance(block, Heading):
            console.print()
        _print(console, block, width, unicode)
    text = out.getvalue() if unicode else _ascii(out.getvalue())
    return "\n".join(line.rstrip() for line in text.split("\n")) if not colour else text


def _ascii(text: str) -> str:
    return text.translate(FALLBACKS).encode("ascii", "backslashreplace").decode("ascii")


def _print(console: Console, block: Block, width: int | None, unicode: bool) -> None:
    if isinstance(block, Heading):
        _heading(console, block, width)
    elif isinstance(block, Paragraph):
        console.print(_text(block.text), width=width or PLAIN_WIDTH, overflow="fold")
    elif isinstance(block, Item):
        _item(console, block, width or PLAIN_WIDTH)
    elif isinstance(block, Picture):
        for line in block.lines:
            console.print(_text(line), no_wrap=True, overflow="ignore", crop=False)
    else:
        _table(console, block, width, unicode)


def _item(console: Console, block: Item, width: int) -> None:
    grid = RichTable.grid()
    grid.add_column(width=4)
    grid.add_column(width=width - 4, overflow="fold")
    grid.add_row(f"  {block.mark}", _text(block.text))
    console.print(grid)


def _text(line: Spans) -> Text:
    text = Text()
    for span in line:
        text.append(safe(span.text), style=STYLES[span.style])
    return text


def _heading(console: Console, block: Heading, width: int | None) -> None:
    left, right = _text(block.left), _text(block.right)
    room = (width or PLAIN_WIDTH) - left.cell_len - right.cell_len
    if not block.right or room < 2:
        console.print(left, overflow="fold")
        if block.right:
            console.print(right, overflow="fold")
        return
    console.print(left.append(" " * room).append(right), overflow="fold")


def _table(console: Console, block: Table, width: int | None, unicode: bool) -> None:
    if width is not None and width < NARROWEST_TABLE and needed(block) > width:
        _list(console, block, width)
        return
    found = fitted(block, width)
    if found.prefix:
        console.print(Text(f"Layer names begin with {safe(found.prefix)}", style="dim"), overflow="fold")
    console.print(_drawn(found, unicode))
    if found.hidden:
        names = ", ".join(found.hidden)
        console.print(Text(f"Not shown at this width: {names} (--wide shows all)", style="dim"), overflow="fold")


def _drawn(found: Fitted, unicode: bool) -> RichTable:
    """The table for Rich; lines set its rows apart where names are on several lines."""
    table = found.table
    tall = [any(len(cell) > 1 for cell in row) for row in table.rows]
    lines = box.HEAVY_HEAD if unicode else box.ASCII2
    drawn = RichTable(
        box=lines if table.ruled else None,
        show_lines=table.ruled and bool(found.prefix) and any(tall[:-1]),
        padding=(0, 1) if table.ruled else (0, 1, 0, 2),
        header_style="table.header" if table.ruled else "dim",
    )
    for column, width in zip(table.columns, found.widths, strict=True):
        justify: Literal["left", "right"] = "right" if column.kind == "number" else "left"
        drawn.add_column(safe(column.name), overflow="fold", width=width, justify=justify)
    for row in table.rows:
        drawn.add_row(*(Text("\n").join(_text(line) for line in lines) for lines in row))
    return drawn


def _list(console: Console, block: Table, width: int) -> None:
    """A table on a terminal that is too narrow for any: each row as a name with its values below."""
    label = max(len(column.name) for column in block.columns[1:])
    for first, *rest in block.rows:
        for line in first:
            console.print(_text(line), overflow="fold", style="bold")
        grid = RichTable.grid(padding=(0, 2))
        grid.add_column(width=label + 2)
        grid.add_column(overflow="fold", width=width - label - 6)
        for column, lines in zip(block.columns[1:], rest, strict=True):
            grid.add_row(Text("  " + column.name, style="dim"), Text("\n").join(_text(line) for line in lines))
        console.print(grid)


def wants_colour(flag: str, stream: IO[str]) -> bool:
    """Whether to colour: `--color` before FORCE_COLOR before NO_COLOR before whether it is a terminal."""
    if flag in ("always", "never"):
        return flag == "always"
    if os.environ.get("FORCE_COLOR"):
        return True
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
