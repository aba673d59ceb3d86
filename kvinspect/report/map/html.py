"""A picture as one HTML page that needs nothing else: hover or arrow keys tell what a cell is."""

from __future__ import annotations

from xml.sax.saxutils import escape

from kvinspect.report.map.scene import Scene
from kvinspect.report.map.svg import svg
from kvinspect.report.safe import safe

STYLE = """\
:root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem;background:#fff;color:#1a1a1a}
.scroll{overflow-x:auto}h1{font-size:1.1rem}#detail{min-height:3em;padding:.6rem .8rem;border-left:4px solid #888;
background:#f2f2f2;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{background:#16181d;color:#ececec}#detail{background:#23262d}}"""

SCRIPT = """\
const detail=document.getElementById('detail'),cells=[...document.querySelectorAll('.cell')];
cells.forEach((cell,i)=>{const tell=()=>{detail.textContent=cell.getAttribute('aria-label')};
cell.addEventListener('mouseenter',tell);cell.addEventListener('focus',tell);
cell.addEventListener('keydown',event=>{const step={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[event.key];
if(step){event.preventDefault();cells[(i+step+cells.length)%cells.length].focus()}})});"""


def html(scene: Scene, source: str, why: str) -> str:
    """The scene as a page, with the sentence that says what was decided and why."""
    title = escape(safe(f"{source}: {scene.title}"))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><h1>{title}</h1>\n<p>{escape(safe(why))}</p>\n"
        "<p>A cell is a block through a layer’s view: its ID, with K or V before it where the view keeps them apart "
        "(values are hatched). A red frame and <b>!</b> mark bytes that another block lies on as well. "
        "Point at a cell, or step through them with Tab and the arrow keys.</p>\n"
        '<p id="detail" aria-live="polite">No cell chosen.</p>\n'
        f'<div class="scroll">{svg(scene, source)}</div>\n<script>{SCRIPT}</script></body></html>\n'
    )
