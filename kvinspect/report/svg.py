"""The one writer of SVG: escaped elements, and the frame, the style and the sizes that all drawings share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from kvinspect.output.safe import safe

CHARACTER, LINE, MARGIN = 8, 20, 16
"""Pixels: of a character, of a line of text, around a drawing."""

STYLE = """\
svg{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color-scheme:light dark;background:#fff}
text{fill:#1a1a1a}.dim{fill:#5c5c5c}.title{font-weight:bold}.cell:focus{outline:none}
@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#ececec}.dim{fill:#a8a8a8}}
"""


def element(name: str, *inner: str, **attributes: str | float) -> str:
    """Return an element around elements and texts that are escaped already; its attributes are escaped here.

    `kind` is the class, which Python does not let be a name, and an underscore is a hyphen. Empty ones are left out.

    >>> element("rect", kind="cell", stroke_width=2, x=1.50)
    '<rect class="cell" stroke-width="2" x="1.5"/>'
    """
    head = " ".join([name, *(f'{_name(key)}="{_value(value)}"' for key, value in attributes.items() if value != "")])
    return f"<{head}>{''.join(inner)}</{name}>" if inner else f"<{head}/>"


def _name(key: str) -> str:
    return "class" if key == "kind" else key.replace("_", "-")


def _value(value: str | float) -> str:
    if isinstance(value, str):
        return _escaped(value)
    return str(value) if isinstance(value, int) else number(value)


def number(value: float) -> str:
    """Return a number with at most two decimals.

    >>> number(12.0), number(3.14159)
    ('12', '3.14')
    """
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _escaped(words: str) -> str:
    return escape(safe(words), {'"': "&quot;"})


def text(x: float, y: float, words: str, kind: str = "", anchor: str = "") -> str:
    """Return a line of text, which may be foreign."""
    return element("text", escape(safe(words)), kind=kind, x=x, y=y, text_anchor=anchor)


def told(name: str, words: str, *inner: str, kind: str = "cell", **attributes: str | float) -> str:
    """Return an element that can be reached by keys and says its words under the pointer and to a screen reader."""
    title = element("title", escape(safe(words)))
    return element(name, title, *inner, kind=kind, tabindex=0, role="img", aria_label=words, **attributes)


def hatching(name: str, stroke: str) -> str:
    """Return a pattern of slanted lines, which `fill:url(#name)` draws."""
    line = element("line", x1=0, y1=0, x2=0, y2=6, stroke=stroke, stroke_width=2)
    return pattern(name, 6, line, patternTransform="rotate(45)")


def pattern(name: str, size: int, drawn: str, **attributes: str) -> str:
    """Return a pattern of squares of a size in pixels."""
    return element("pattern", drawn, id=name, width=size, height=size, patternUnits="userSpaceOnUse", **attributes)


def document(
    size: tuple[float, float], label: str, style: str, body: Iterable[str], patterns: Sequence[str] = ()
) -> str:
    """Return a drawing of (width, height) pixels; `style` comes on top of what all drawings share."""
    width, height = (round(side) for side in size)
    return (
        element(
            "svg",
            element("style", STYLE + style),
            *([element("defs", *patterns)] if patterns else ()),
            *body,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
            role="group",
            aria_label=label,
        )
        + "\n"
    )
