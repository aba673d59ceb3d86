"""A chart as SVG: light and dark; lines are told apart by the shape of their marks as well as by color."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from kvinspect.report.svg import CHARACTER, LINE, MARGIN, document, element, number, text, told
from kvinspect.report.sweep.chart import Chart, Mark, Series

WIDTH, HEIGHT, LEFT, TOP = 720, 380, 80, 72
"""Pixels: of the plot, left of and above it."""
COLORS = ("#1f77c4", "#c2570c", "#2e8b3d", "#a04fc2", "#808080", "#c2398a", "#8a7000", "#00868f")
"""Each is legible on white and on the dark background."""
DASHES = ("", "8 4", "2 4")
SHAPES = (
    "M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0",
    "M-4 -4h8v8h-8z",
    "M0 -6l6 6l-6 6l-6 -6z",
    "M0 -6l5.5 10h-11z",
    "M0 6l5.5 -10h-11z",
)
"""Marks around their middle: circle, square, diamond, triangles. No two of the first 40 series look alike."""
CROSS = "M-5 -5l10 10m0 -10l-10 10"

STYLE = """\
.grid{stroke:#d0d0d0}
.cell:focus,.cell:hover{stroke:#1a1a1a;stroke-width:4}.refused{stroke:#c1121f;stroke-width:2;fill:none}
@media(prefers-color-scheme:dark){.grid{stroke:#3a3d44}
.cell:focus,.cell:hover{stroke:#ececec}}"""


def svg(chart: Chart, title: str) -> str:
    """The chart as an SVG document."""
    names = [one.name for one in chart.series if one.name]
    refused = any(mark.y is None for one in chart.series for mark in one.marks)
    height = TOP + HEIGHT + 3 * LINE + (len(names) + refused) * LINE + 16
    width = max(LEFT + WIDTH + 40, LEFT + max([len(title), *map(len, names)]) * CHARACTER + 40)
    body = [text(LEFT, 24, title, "title"), text(MARGIN, TOP - 20, f"↑ {chart.upwards}")]
    body += [text(LEFT + WIDTH, TOP + HEIGHT + 2 * LINE, f"{chart.across} →", "", "end"), *_grid(chart)]
    for i, one in enumerate(chart.series):
        body += [*_line(one, i), *_legend(one, i)]
    if refused:
        y = _legend_line(len(names))
        body += [_shape(CROSS, LEFT + 20, y, kind="refused"), text(LEFT + 50, y + 4, "refused at start-up")]
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
            yield element("line", kind="grid", x1=last, x2=last, y1=TOP + HEIGHT, y2=TOP + HEIGHT + 5)
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
    """A point that can be reached by keys; a cross at the bottom where the engine refuses."""
    if mark.y is None:
        return told("path", mark.words, kind="cell refused", d=CROSS, transform=_at(_x(mark.x), _y(0)))
    shape, fill = SHAPES[i % len(SHAPES)], COLORS[i % len(COLORS)]
    return told("path", mark.words, fill=fill, d=shape, transform=_at(_x(mark.x), _y(mark.y)))


def _shape(shape: str, x: float, y: float, **attributes: str) -> str:
    """A mark that says nothing, in a legend."""
    return element("path", d=shape, transform=_at(x, y), **attributes)


def _at(x: float, y: float) -> str:
    return f"translate({number(x)} {number(y)})"


def _legend(series: Series, i: int) -> Iterable[str]:
    if not series.name:
        return
    y = _legend_line(i)
    yield _stroke((LEFT, y), (LEFT + 40, y), i)
    yield _shape(SHAPES[i % len(SHAPES)], LEFT + 20, y, fill=COLORS[i % len(COLORS)])
    yield text(LEFT + 50, y + 4, series.name)


def _legend_line(i: int) -> float:
    return TOP + HEIGHT + (2.75 + i) * LINE


def _x(place: float) -> float:
    return LEFT + place * WIDTH


def _y(place: float) -> float:
    return TOP + HEIGHT * (1 - place)
