"""One HTML page around a drawing that needs nothing else: pointing or arrow keys tell what a part of it is."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

from kvinspect.output.safe import safe

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


def html(title: str, paragraphs: Sequence[str], drawing: str) -> str:
    """The page: a title and paragraphs in plain words, and an SVG drawing whose parts have the class `cell`."""
    name = escape(safe(title))
    words = "\n".join(f"<p>{escape(safe(paragraph))}</p>" for paragraph in paragraphs)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body><h1>{name}</h1>\n{words}\n"
        '<p id="detail" aria-live="polite">Nothing chosen.</p>\n'
        f'<div class="scroll">{drawing}</div>\n<script>{SCRIPT}</script></body></html>\n'
    )
