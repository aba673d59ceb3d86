"""A picture as SVG: light and dark, readable without colour, every cell with its bytes in words."""

from __future__ import annotations

from collections.abc import Iterable
from xml.sax.saxutils import escape

from kvinspect.output.safe import safe
from kvinspect.report.fold import title_of
from kvinspect.report.map.scene import Bar, Cell, Panel, Scene
from kvinspect.report.map.terminal import needed_widths

CHARACTER, MARGIN, HEIGHT, NAME, GAP = 8.0, 16, 30, 20, 40
"""Pixels: of a character, around everything, of a bar, of a name above it, between two panels."""

STYLE = """\
svg{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color-scheme:light dark;background:#fff}
text{fill:#1a1a1a}.dim{fill:#5c5c5c}.title{font-weight:bold}
.cell rect{stroke:#1a1a1a;stroke-width:1}.cell:focus rect,.cell:hover rect{stroke-width:3}.cell:focus{outline:none}
.b0{fill:#a6cee3}.b1{fill:#fdd49e}.b2{fill:#b8e0b0}.b3{fill:#e3c5e8}.b4{fill:#d9d9d9}
.v{fill:url(#values)}.scattered{stroke-dasharray:3 3}.clash rect{stroke:#c1121f;stroke-width:3}.x{fill:url(#cross)}
.clash text{font-weight:bold}.hidden{stroke:#8c8c8c;stroke-dasharray:2 4}
@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#ececec}.dim{fill:#a8a8a8}
.cell rect{stroke:#ececec}.cell text{fill:#111}.clash rect{stroke:#ff6b6b}.hidden{stroke:#777}}"""

PATTERNS = """\
<defs><pattern id="values" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
<line x1="0" y1="0" x2="0" y2="6" stroke="#0003" stroke-width="2"/></pattern>\
<pattern id="cross" width="8" height="8" patternUnits="userSpaceOnUse">\
<path d="M0 0L8 8M8 0L0 8" stroke="#c1121f66" stroke-width="1.5"/></pattern></defs>"""


def svg(scene: Scene, source: str) -> str:
    """The scene as an SVG document; panels stand side by side."""
    widths = [chars * CHARACTER for chars in needed_widths(scene)]
    names = [_name(bar) for panel in scene.panels for bar in panel.bars]
    panel_width = max(sum(widths), *(len(safe(name)) * CHARACTER for name in names))
    bars = max(len(panel.bars) for panel in scene.panels)
    width = 2 * MARGIN + len(scene.panels) * panel_width + (len(scene.panels) - 1) * GAP
    source = title_of(source)
    width = max(width, 2 * MARGIN + max(len(scene.title), len(safe(source))) * CHARACTER)
    height = 2 * MARGIN + 3 * NAME + bars * (NAME + HEIGHT + 6) + NAME
    body = [_text(MARGIN, MARGIN + 12, scene.title, "title"), _text(MARGIN, MARGIN + 12 + NAME, source, "dim")]
    for i, panel in enumerate(scene.panels):
        body.extend(_panel(scene, panel, widths, MARGIN + i * (panel_width + GAP)))
    label = escape(safe(f"{scene.title}, {source}"), {'"': "&quot;"})
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="group" aria-label="{label}">'
    return f"{head}<style>{STYLE}</style>{PATTERNS}{''.join(body)}</svg>\n"


def _panel(scene: Scene, panel: Panel, widths: list[float], left: float) -> Iterable[str]:
    top = MARGIN + 3 * NAME
    if panel.moment:
        yield _text(left, top - 4, panel.moment, "title")
    for bar in panel.bars:
        yield _text(left, top + 14, _name(bar), "")
        yield from _bar(scene, bar, panel.moment, widths, left, top + NAME)
        top += NAME + HEIGHT + 6
    yield from _ruler(scene, widths, left, top + 10)


def _name(bar: Bar) -> str:
    return f"{', '.join(bar.names)} · {bar.backend}"


def _bar(scene: Scene, bar: Bar, moment: str, widths: list[float], left: float, top: float) -> Iterable[str]:
    middle = top + HEIGHT / 2
    yield f'<line class="hidden" x1="{left:.1f}" x2="{left + sum(widths):.1f}" y1="{middle:.1f}" y2="{middle:.1f}"/>'
    for cell in bar.cells:
        first, last = scene.span(cell)
        x, width = left + sum(widths[:first]), sum(widths[first:last])
        yield _cell(bar, cell, moment, x, top, width)


def _cell(bar: Bar, cell: Cell, moment: str, x: float, y: float, width: float) -> str:
    words = escape(safe(described(bar, cell, moment)), {'"': "&quot;"})
    box = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{HEIGHT}"'
    kind = "cell clash" if cell.meets else "cell"
    rects = [f'<rect class="b{cell.block % 5}{" scattered" if cell.scattered else ""}" {box}/>']
    if cell.part == "V":
        rects.append(f'<rect class="v" {box}/>')
    if cell.meets:
        rects.append(f'<rect class="x" {box}/>')
    text = f'<text x="{x + width / 2:.1f}" y="{y + 20:.1f}" text-anchor="middle">{escape(cell.label)}</text>'
    head = f'<g class="{kind}" tabindex="0" role="img" aria-label="{words}"><title>{words}</title>'
    return f"{head}{''.join(rects)}{text}</g>"


def described(bar: Bar, cell: Cell, moment: str) -> str:
    """A cell in words: layer, block, K or V, bytes, and what else lies on them."""
    part = {"K": ", keys", "V": ", values"}.get(cell.part, f", state {cell.part[1:-1]}" if cell.part else "")
    where = f"bytes {cell.start} to {cell.end - 1}"
    where = f"scattered over {where}" if cell.scattered else where
    when = f", {moment}" if moment else ""
    meets = f"; on the same bytes lies {' and '.join(cell.meets)}" if cell.meets else ""
    return f"{', '.join(bar.names)}: block {cell.block}{part}, {where}{when}{meets}"


def _ruler(scene: Scene, widths: list[float], left: float, y: float) -> Iterable[str]:
    from kvinspect.report.fold import human_bytes

    x, free = left, left
    for column, width in zip(scene.columns, widths, strict=True):
        label = human_bytes(column.start).replace(" bytes", " B")
        if not column.hidden and x >= free:
            yield _text(x, y, label, "dim")
            free = x + (len(label) + 2) * CHARACTER
        x += width


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(safe(text))}</text>'
