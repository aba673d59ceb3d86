"""A picture as SVG: light and dark, readable without colour, every cell with its bytes in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvinspect.output.safe import safe
from kvinspect.report.fold import human_bytes, title_of
from kvinspect.report.map.scene import Bar, Cell, Panel, Scene
from kvinspect.report.map.terminal import needed_widths
from kvinspect.report.svg import CHARACTER, LINE, MARGIN, document, element, hatching, pattern, text, told

HEIGHT, GAP = 30, 40
"""Pixels: of a bar, between two panels."""

STYLE = """\
.cell rect{stroke:#1a1a1a;stroke-width:1}.cell:focus rect,.cell:hover rect{stroke-width:3}
.b0{fill:#a6cee3}.b1{fill:#fdd49e}.b2{fill:#b8e0b0}.b3{fill:#e3c5e8}.b4{fill:#d9d9d9}
.v{fill:url(#values)}.scattered{stroke-dasharray:3 3}.clash rect{stroke:#c1121f;stroke-width:3}.x{fill:url(#cross)}
.clash text{font-weight:bold}.hidden{stroke:#8c8c8c;stroke-dasharray:2 4}
@media(prefers-color-scheme:dark){
.cell rect{stroke:#ececec}.cell text{fill:#111}.clash rect{stroke:#ff6b6b}.hidden{stroke:#777}}"""

PATTERNS = (
    hatching("values", "#0003"),
    pattern("cross", 8, element("path", d="M0 0L8 8M8 0L0 8", stroke="#c1121f66", stroke_width=1.5)),
)


def svg(scene: Scene, source: str, note: str = "") -> str:
    """The scene as an SVG document; panels stand side by side. `note` stands behind the source."""
    widths = [chars * CHARACTER for chars in needed_widths(scene)]
    names = [_name(bar) for panel in scene.panels for bar in panel.bars]
    panel_width = max(sum(widths), *(len(safe(name)) * CHARACTER for name in names))
    bars = max(len(panel.bars) for panel in scene.panels)
    width = 2 * MARGIN + len(scene.panels) * panel_width + (len(scene.panels) - 1) * GAP
    source = title_of(source) + note
    width = max(width, 2 * MARGIN + max(len(scene.title), len(safe(source))) * CHARACTER)
    height = 2 * MARGIN + 3 * LINE + bars * (LINE + HEIGHT + 6) + LINE
    body = [text(MARGIN, MARGIN + 12, scene.title, "title"), text(MARGIN, MARGIN + 12 + LINE, source, "dim")]
    for i, panel in enumerate(scene.panels):
        body.extend(_panel(scene, panel, widths, MARGIN + i * (panel_width + GAP)))
    return document((width, height), f"{scene.title}, {source}", STYLE, body, PATTERNS)


def _panel(scene: Scene, panel: Panel, widths: Sequence[float], left: float) -> Iterable[str]:
    top = MARGIN + 3 * LINE
    if panel.moment:
        yield text(left, top - 4, panel.moment, "title")
    for bar in panel.bars:
        yield text(left, top + 14, _name(bar))
        yield from _bar(scene, bar, panel.moment, widths, left, top + LINE)
        top += LINE + HEIGHT + 6
    yield from _ruler(scene, widths, left, top + 10)


def _name(bar: Bar) -> str:
    return f"{', '.join(bar.names)} · {bar.backend}"


def _bar(scene: Scene, bar: Bar, moment: str, widths: Sequence[float], left: float, top: float) -> Iterable[str]:
    middle = top + HEIGHT / 2
    yield element("line", kind="hidden", x1=left, x2=left + sum(widths), y1=middle, y2=middle)
    for cell in bar.cells:
        first, last = scene.span(cell)
        x, width = left + sum(widths[:first]), sum(widths[first:last])
        yield _cell(bar, cell, moment, x, top, width)


def _cell(bar: Bar, cell: Cell, moment: str, x: float, y: float, width: float) -> str:
    fills = [f"b{cell.block % 5}{' scattered' if cell.scattered else ''}"]
    fills += ["v"] if cell.part == "V" else []
    fills += ["x"] if cell.meets else []
    rects = [element("rect", kind=fill, x=x, y=y, width=width, height=HEIGHT) for fill in fills]
    label = text(x + width / 2, y + 20, cell.label, anchor="middle")
    return told("g", described(bar, cell, moment), *rects, label, kind="cell clash" if cell.meets else "cell")


def described(bar: Bar, cell: Cell, moment: str) -> str:
    """A cell in words: layer, block, K or V, bytes, and what else lies on them."""
    part = {"K": ", keys", "V": ", values"}.get(cell.part, f", state {cell.part[1:-1]}" if cell.part else "")
    where = f"bytes {cell.start} to {cell.end - 1}"
    where = f"scattered over {where}" if cell.scattered else where
    when = f", {moment}" if moment else ""
    meets = f"; on the same bytes lies {' and '.join(cell.meets)}" if cell.meets else ""
    return f"{', '.join(bar.names)}: block {cell.block}{part}, {where}{when}{meets}"


def _ruler(scene: Scene, widths: Sequence[float], left: float, y: float) -> Iterable[str]:
    x, free = left, left
    for column, width in zip(scene.columns, widths, strict=True):
        label = human_bytes(column.start, 4).replace(" bytes", " B")
        if not column.hidden and x >= free:
            yield text(x, y, label, "dim")
            free = x + (len(label) + 2) * CHARACTER
        x += width
