"""A chart as SVG: light and dark, lines told apart by dashes and marks as well as by colour."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from xml.sax.saxutils import escape

from kvinspect.output.safe import safe
from kvinspect.report.sweep.chart import Chart, Mark, Series

WIDTH, HEIGHT, LEFT, TOP, LINE = 720, 380, 80, 64, 20
"""Pixels: of the plot, left of and above it, of a line of text."""
CHARACTER = 8
COLOURS = ("#1f6fb2", "#c2570c", "#2e7d32", "#8e24aa", "#5c5c5c")
DASHES = ("", "8 4", "2 4", "12 4 2 4", "5 5")

STYLE = """\
svg{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color-scheme:light dark;background:#fff}
text{fill:#1a1a1a}.dim{fill:#5c5c5c}.title{font-weight:bold}.grid{stroke:#d0d0d0}
.cell:focus,.cell:hover{stroke:#1a1a1a;stroke-width:4;outline:none}.refused{stroke:#c1121f;stroke-width:2;fill:none}
@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#ececec}.dim{fill:#a8a8a8}.grid{stroke:#3a3d44}
.cell:focus,.cell:hover{stroke:#ececec}}"""


def svg(chart: Chart, title: str) -> str:
    """The chart as an SVG document."""
    names = [one.name for one in chart.series if one.name]
    height = TOP + HEIGHT + 3 * LINE + len(names) * LINE + 16
    width = max(LEFT + WIDTH + 40, LEFT + max([len(title), *map(len, names)]) * CHARACTER + 40)
    body = [_text(LEFT, 24, title, "title"), _text(LEFT, 24 + LINE, f"{chart.upwards} over {chart.across}", "dim")]
    body += [*_grid(chart)]
    for i, one in enumerate(chart.series):
        body += [*_line(one, i), *_legend(one, i)]
    label = escape(safe(title), {'"': "&quot;"})
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f'{head} role="group" aria-label="{label}"><style>{STYLE}</style>{"".join(body)}</svg>\n'


def _grid(chart: Chart) -> Iterable[str]:
    for tick in chart.y_ticks:
        y = _y(tick.place)
        yield f'<line class="grid" x1="{LEFT}" x2="{LEFT + WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _text(LEFT - 8, y + 4, tick.label, "dim", "end")
    last = -1e9
    for tick in sorted(chart.x_ticks):
        if _x(tick.place) - last >= (len(tick.label) + 2) * CHARACTER:
            last = _x(tick.place)
            yield _text(last, TOP + HEIGHT + LINE, tick.label, "dim", "middle")


def _line(series: Series, i: int) -> Iterable[str]:
    colour, dash = COLOURS[i % len(COLOURS)], DASHES[i % len(DASHES)]
    for a, b in pairwise(series.marks):
        if a.y is not None and b.y is not None:
            ends = f'x1="{_x(a.x):.1f}" y1="{_y(a.y):.1f}" x2="{_x(b.x):.1f}" y2="{_y(b.y):.1f}"'
            yield f'<line {ends} stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    for mark in series.marks:
        yield _mark(mark, colour, i)


def _mark(mark: Mark, colour: str, i: int) -> str:
    label = f'role="img" tabindex="0" aria-label="{escape(safe(mark.words), {chr(34): "&quot;"})}"'
    title = f"<title>{escape(safe(mark.words))}</title>"
    x = _x(mark.x)
    if mark.y is None:
        y = _y(0)
        return f'<path class="cell refused" {label} d="M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10">{title}</path>'
    y = _y(mark.y)
    common = f'class="cell" {label} fill="{colour}"'
    if i % 2:
        return f'<rect {common} x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8">{title}</rect>'
    return f'<circle {common} cx="{x:.1f}" cy="{y:.1f}" r="4.5">{title}</circle>'


def _legend(series: Series, i: int) -> Iterable[str]:
    if not series.name:
        return
    y = TOP + HEIGHT + (2.5 + i) * LINE
    dash = DASHES[i % len(DASHES)]
    line = f'x1="{LEFT}" x2="{LEFT + 40}" y1="{y:.1f}" y2="{y:.1f}"'
    yield f'<line {line} stroke="{COLOURS[i % len(COLOURS)]}" stroke-width="2" stroke-dasharray="{dash}"/>'
    yield _text(LEFT + 50, y + 4, series.name, "")


def _x(place: float) -> float:
    return LEFT + place * WIDTH


def _y(place: float) -> float:
    return TOP + HEIGHT * (1 - place)


def _text(x: float, y: float, text: str, kind: str, anchor: str = "start") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(safe(text))}</text>'
