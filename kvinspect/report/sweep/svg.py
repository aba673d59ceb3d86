"""A chart as SVG: light and dark, lines told apart by dashes and marks as well as by color."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from kvinspect.report.svg import CHARACTER, LINE, document, element, number, text, told
from kvinspect.report.sweep.chart import Chart, Mark, Series

WIDTH, HEIGHT, LEFT, TOP = 720, 380, 80, 64
"""Pixels: of the plot, left of and above it."""
COLORS = ("#1f6fb2", "#c2570c", "#2e7d32", "#8e24aa", "#5c5c5c")
DASHES = ("", "8 4", "2 4", "12 4 2 4", "5 5")

STYLE = """\
.grid{stroke:#d0d0d0}
.cell:focus,.cell:hover{stroke:#1a1a1a;stroke-width:4}.refused{stroke:#c1121f;stroke-width:2;fill:none}
@media(prefers-color-scheme:dark){.grid{stroke:#3a3d44}
.cell:focus,.cell:hover{stroke:#ececec}}"""


def svg(chart: Chart, title: str) -> str:
    """The chart as an SVG document."""
    names = [one.name for one in chart.series if one.name]
    height = TOP + HEIGHT + 3 * LINE + len(names) * LINE + 16
    width = max(LEFT + WIDTH + 40, LEFT + max([len(title), *map(len, names)]) * CHARACTER + 40)
    body = [text(LEFT, 24, title, "title"), text(LEFT, 24 + LINE, f"{chart.upwards} over {chart.across}", "dim")]
    body += [*_grid(chart)]
    for i, one in enumerate(chart.series):
        body += [*_line(one, i), *_legend(one, i)]
    return document((width, height), title, STYLE, body)


def _grid(chart: Chart) -> Iterable[str]:
    for tick in chart.y_ticks:
        y = _y(tick.place)
        yield element("line", kind="grid", x1=LEFT, x2=LEFT + WIDTH, y1=y, y2=y)
        yield text(LEFT - 8, y + 4, tick.label, "dim", "end")
    last = -1e9
    for tick in sorted(chart.x_ticks):
        if _x(tick.place) - last >= (len(tick.label) + 2) * CHARACTER:
            last = _x(tick.place)
            yield text(last, TOP + HEIGHT + LINE, tick.label, "dim", "middle")


def _line(series: Series, i: int) -> Iterable[str]:
    for a, b in pairwise(series.marks):
        if a.y is not None and b.y is not None:
            yield _stroke((_x(a.x), _y(a.y)), (_x(b.x), _y(b.y)), i)
    for mark in series.marks:
        yield _mark(mark, i)


def _stroke(start: tuple[float, float], end: tuple[float, float], i: int) -> str:
    """A line in the color and with the dashes of a series."""
    (x1, y1), (x2, y2) = start, end
    color, dashes = COLORS[i % len(COLORS)], DASHES[i % len(DASHES)]
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=color, stroke_width=2, stroke_dasharray=dashes)


def _mark(mark: Mark, i: int) -> str:
    x = _x(mark.x)
    if mark.y is None:
        cross = f"M{number(x - 5)} {number(_y(0) - 5)}l10 10m0 -10l-10 10"
        return told("path", mark.words, kind="cell refused", d=cross)
    y, fill = _y(mark.y), COLORS[i % len(COLORS)]
    if i % 2:
        return told("rect", mark.words, fill=fill, x=x - 4, y=y - 4, width=8, height=8)
    return told("circle", mark.words, fill=fill, cx=x, cy=y, r=4.5)


def _legend(series: Series, i: int) -> Iterable[str]:
    if not series.name:
        return
    y = TOP + HEIGHT + (2.5 + i) * LINE
    yield _stroke((LEFT, y), (LEFT + 40, y), i)
    yield text(LEFT + 50, y + 4, series.name)


def _x(place: float) -> float:
    return LEFT + place * WIDTH


def _y(place: float) -> float:
    return TOP + HEIGHT * (1 - place)
