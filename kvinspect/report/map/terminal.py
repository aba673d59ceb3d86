"""A picture as lines of text, for a terminal or a code block."""

from __future__ import annotations

from itertools import zip_longest

from kvinspect.report.fold import human_bytes
from kvinspect.report.map.scene import Bar, Cell, Panel, Scene
from kvinspect.report.page_parts import Picture, Span, Spans, Style, spans

GAP = "┄"
EMPTY = " "
BLOCK_STYLES: tuple[Style, ...] = ("block0", "block1", "block2", "block3", "block4")
BETWEEN = 4
SHORT_LEGEND = "! marks shared bytes, ┄ blocks that are not shown"
LEGEND = "Each cell is a block with its ID, after K or V where a view keeps them apart. " + SHORT_LEGEND


def picture(scene: Scene, width: int, legend: bool = True) -> Picture:
    """The scene in `width` columns, or wider where its cells could not be told apart.

    Before and after stand side by side where there is room for both, else one below the other.
    """
    beside = len(scene.panels) > 1 and 2 * sum(needed_widths(scene)) + BETWEEN < width
    share = (width - BETWEEN) // 2 if beside else width
    widths = _widths(scene, share)
    panels = [_panel(scene, panel, widths) for panel in scene.panels]
    lines = _side_by_side(panels[0], panels[1], share) if beside else [line for panel in panels for line in panel]
    if legend:
        lines.append(spans(Span(LEGEND if len(LEGEND) <= width else SHORT_LEGEND, "dim")))
    return Picture(tuple(lines))


def _side_by_side(left: list[Spans], right: list[Spans], width: int) -> list[Spans]:
    lines = []
    for first, second in zip_longest(left, right, fillvalue=()):
        length = sum(len(span.text) for span in first)
        lines.append((*first, Span(" " * max(width - length + BETWEEN, 1)), *second))
    return lines


def needed_widths(scene: Scene) -> list[int]:
    """The characters that each column of the axis needs for every label to be read."""
    return _widths(scene, 0)


def _widths(scene: Scene, width: int) -> list[int]:
    """Characters of each column of the axis, its left border counted: enough for every label, and more if there is."""
    widths = [2 if column.hidden else 1 for column in scene.columns]
    cells = {cell for panel in scene.panels for bar in panel.bars for cell in bar.cells}
    for cell in sorted(cells, key=lambda c: (scene.span(c)[1] - scene.span(c)[0], c)):
        first, last = scene.span(cell)
        visible = [i for i in range(first, last) if not scene.columns[i].hidden]
        while visible and sum(widths[first:last]) < len(cell.label) + 2:
            narrowest = min(visible, key=lambda i: (widths[i], i))
            widths[narrowest] += 1
    return _stretched(scene, widths, width)


def _stretched(scene: Scene, widths: list[int], width: int) -> list[int]:
    """Room that is left over, shared out evenly up to twice what a label needs."""
    visible = [i for i, column in enumerate(scene.columns) if not column.hidden]
    spare = min((width - sum(widths) - 1) // max(len(visible), 1), 4)
    return [w + spare if i in visible and spare > 0 else w for i, w in enumerate(widths)]


def _panel(scene: Scene, panel: Panel, widths: list[int]) -> list[Spans]:
    lines: list[Spans] = [spans(Span(panel.moment, "strong"))] if panel.moment else []
    for bar in panel.bars:
        names = ", ".join(bar.names)
        lines.append(spans(names, Span(f"  {bar.backend}", "dim")))
        lines.extend(_rows(scene, bar, widths))
    lines.append(spans(Span(_ruler(scene, widths), "dim")))
    return lines


def _rows(scene: Scene, bar: Bar, widths: list[int]) -> list[Spans]:
    """The bar in one line, or in several where its own blocks lie over each other."""
    rows: list[list[Cell]] = []
    for cell in bar.cells:
        free = next((row for row in rows if row[-1].end <= cell.start), None)
        if free is None:
            rows.append([cell])
        else:
            free.append(cell)
    return [_row(scene, row, widths) for row in rows]


def _row(scene: Scene, cells: list[Cell], widths: list[int]) -> Spans:
    parts: list[Span] = []
    at = 0
    for cell in cells:
        first, last = scene.span(cell)
        parts.append(_between(scene, widths, at, first, at > 0))
        room = sum(widths[first:last]) - 1
        style: Style = "clash" if cell.meets else BLOCK_STYLES[cell.block % len(BLOCK_STYLES)]
        fill = "░" if cell.scattered else " "
        parts += [Span("│"), Span(cell.label.center(room, fill), style)]
        at = last
    parts.append(_between(scene, widths, at, len(widths), at > 0))
    return tuple(part for part in parts if part.text)


def _between(scene: Scene, widths: list[int], first: int, last: int, after_cell: bool) -> Span:
    """What lies between two cells: nothing of this view, or blocks that are not shown."""
    text = "".join((GAP if scene.columns[i].hidden else EMPTY) * widths[i] for i in range(first, last))
    if after_cell:
        text = "│" + text[1:] if text else "│" if last == len(widths) else ""
    return Span(text, "dim")


def _ruler(scene: Scene, widths: list[int]) -> str:
    """Bytes at the starts of columns, as many as there is room for, none that reads like the one before it."""
    line, at = "", 0
    for column, width in zip(scene.columns, widths, strict=True):
        label = "0" if column.start == 0 else human_bytes(column.start, 4).replace(" bytes", " B")
        free = at == 0 or len(line) + 1 <= at
        if not column.hidden and free and not line.rstrip().endswith(f" {label}"):
            line = line.ljust(at) + label
        at += width
    return line
