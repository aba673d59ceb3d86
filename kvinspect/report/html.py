"""Pages of blocks as HTML that needs nothing else: drawings among them tell what a part is, by pointer or by keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from kvinspect.output.safe import safe
from kvinspect.report.page_parts import Block, Heading, Item, Paragraph, Picture, Spans, Table

STYLE = """\
:root{color-scheme:light dark;--good:#1a6b2f;--changed:#7a5200;--bad:#b00020;--dim:#5c5c5c;--line:#c8c8c8;
--soft:#f2f2f2}
body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem auto;padding:0 1rem;max-width:75rem;background:#fff;color:#1a1a1a}
h1{font-size:1.3rem;line-height:1.3}h2{font-size:1.05rem;margin:1.6rem 0 .4rem}h1,h2,p{overflow-wrap:anywhere}
p{margin:.4rem 0}.item{padding-left:1.2rem;text-indent:-1rem}.scroll{overflow-x:auto;margin:.8rem 0}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.25rem .7rem;text-align:left;vertical-align:top}
.ruled td,.ruled th{border:1px solid var(--line)}th{background:var(--soft)}td.number,th.number{text-align:right}
td.fact,td.number{white-space:nowrap}
.strong{font-weight:600}.good{color:var(--good)}.changed{color:var(--changed)}.bad,.clash{color:var(--bad)}
.dim{color:var(--dim)}pre{font:13px/1.3 ui-monospace,monospace}
.scroll>svg{min-width:40rem;width:100%;max-width:max-content;height:auto}
#detail{min-height:3em;padding:.6rem .8rem;border-left:4px solid #888;background:var(--soft);
font-family:ui-monospace,monospace}
@media(prefers-color-scheme:dark){:root{--good:#7bd88f;--changed:#ffcc66;--bad:#ff7a85;--dim:#a8a8a8;--line:#444;
--soft:#23262d}body{background:#16181d;color:#ececec}}
@media(max-width:40rem){body{margin:.8rem auto;padding:0 .7rem}td,th{padding:.2rem .4rem}}
@media print{#detail{display:none}body{max-width:none;margin:0}.scroll{overflow:visible}
.scroll>svg{min-width:0;max-width:100%}table,svg{break-inside:avoid}h2{break-after:avoid}}"""

SCRIPT = """\
const detail=document.getElementById('detail'),cells=[...document.querySelectorAll('.cell')];
cells.forEach((cell,i)=>{const tell=()=>{detail.textContent=cell.getAttribute('aria-label')};
cell.addEventListener('mouseenter',tell);cell.addEventListener('focus',tell);
cell.addEventListener('keydown',event=>{const step={ArrowRight:1,ArrowDown:1,ArrowLeft:-1,ArrowUp:-1}[event.key];
if(step){event.preventDefault();cells[(i+step+cells.length)%cells.length].focus()}})});"""

DETAIL = (
    '<p id="detail" aria-live="polite">'
    "Point at a part of the drawing, or step through its parts with Tab and the arrow keys.</p>"
)


class Drawing(NamedTuple):
    """An SVG element, whose texts are escaped, and whose parts of the class `cell` tell what they are."""

    svg: str


Part = Block | Drawing


def html(title: str, parts: Iterable[Part]) -> str:
    """The page; its first heading is the verdict."""
    name, every = escape(safe(title)), tuple(parts)
    script = f"<script>{SCRIPT}</script>" if any(isinstance(part, Drawing) for part in every) else ""
    body = "\n".join(_parts(every))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body>{body}\n{script}</body></html>\n"
    )


def _parts(parts: Iterable[Part]) -> Iterator[str]:
    level, told = "h1", False
    for part in parts:
        if isinstance(part, Drawing):
            yield ("" if told else DETAIL) + f'<div class="scroll">{part.svg}</div>'
            told = True
        elif isinstance(part, Heading):
            right = f" — {_line(part.right)}" if part.right else ""
            yield f"<{level}>{_line(part.left)}{right}</{level}>"
            level = "h2"
        else:
            yield _block(part)


def _block(block: Paragraph | Item | Table | Picture) -> str:
    if isinstance(block, Paragraph):
        return f"<p>{_line(block.text)}</p>"
    if isinstance(block, Item):
        return f'<p class="item">{escape(safe(block.mark))} {_line(block.text)}</p>'
    if isinstance(block, Picture):
        return '<pre class="scroll" tabindex="0">' + "\n".join(map(_line, block.lines)) + "</pre>"
    return f'<div class="scroll" tabindex="0">{_table(block)}</div>'


def _table(table: Table) -> str:
    kinds = [f' class="{column.kind}"' for column in table.columns]
    names = [escape(safe(column.name)) for column in table.columns]
    head = "".join(f'<th scope="col"{kind}>{name}</th>' for name, kind in zip(names, kinds, strict=True))
    rows = (
        "".join(f"<td{kind}>{'<br>'.join(map(_line, cell))}</td>" for cell, kind in zip(row, kinds, strict=True))
        for row in table.rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    ruled = ' class="ruled"' if table.ruled else ""
    return f"<table{ruled}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _line(line: Spans) -> str:
    """Spans as text, each in the class of its style."""
    return "".join(
        text if style == "plain" else f'<span class="{style}">{text}</span>'
        for text, style in ((escape(safe(span.text)), span.style) for span in line)
    )
