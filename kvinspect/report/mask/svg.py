"""The attention masks of requests as SVG, drawn to scale however long a prompt is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from xml.sax.saxutils import escape

from kvinspect.document.numbers import counted
from kvinspect.engine.mm_prefix.mm_prefix_answer import MMPrefixAnswer, RequestAnswer
from kvinspect.engine.mm_prefix.ranges import Span
from kvinspect.output.safe import safe

SIDE, MARGIN, LABEL, LINE = 420.0, 16.0, 64.0, 20.0
"""Pixels: of a mask, around everything, of the token numbers beside it, of a line of text."""

MOST_STEPS = 96
"""Up to so many tokens a mask has the steps of its tokens, beyond them a straight edge."""

STYLE = """\
svg{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;color-scheme:light dark;background:#fff}
text{fill:#1a1a1a}.dim{fill:#5c5c5c}.title{font-weight:bold}.frame{fill:none;stroke:#8c8c8c}
.causal{fill:#a6cee3}.cut{fill:#ececec}.ahead{fill:#fdd49e}.both{fill:#0000;stroke:#1a1a1a}.hatch{fill:url(#ahead)}
.left{fill:#0000;stroke:#c1121f;stroke-dasharray:4 3}.cell:focus rect,.cell:hover rect{stroke-width:3}
.cell:focus{outline:none}
@media(prefers-color-scheme:dark){svg{background:#16181d}text{fill:#ececec}.dim{fill:#a8a8a8}.causal{fill:#4a7a96}
.cut{fill:#2a2d34}.ahead{fill:#b07d3c}.both{stroke:#ececec}.left{stroke:#ff6b6b}}"""

PATTERNS = """\
<defs><pattern id="ahead" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">\
<line x1="0" y1="0" x2="0" y2="6" stroke="#0005" stroke-width="2"/></pattern></defs>"""


def svg(answer: MMPrefixAnswer) -> str:
    """The masks of all requests, one below the other."""
    body, top = [_text(MARGIN, MARGIN + 12, _title(answer), "title")], MARGIN + 2 * LINE
    for request in answer.requests:
        body.extend(_request(request, answer.sliding_window, top))
        top += 2 * LINE + (SIDE + 2 * LINE if request.num_tokens else 0)
    body.extend(_legend(top))
    width, height = max(2 * MARGIN + LABEL + SIDE + 60, 560.0), top + 4 * LINE + MARGIN
    label = escape(safe(_title(answer)), {'"': "&quot;"})
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="group" aria-label="{label}">'
    return f"{head}<style>{STYLE}</style>{PATTERNS}{''.join(body)}</svg>\n"


def _title(answer: MMPrefixAnswer) -> str:
    window = f"window of {counted(answer.sliding_window, 'token')}" if answer.sliding_window else "no window"
    return f"{answer.setting.source.rsplit('/', 1)[-1]}: who sees whom, {window}"


def _request(request: RequestAnswer, window: int | None, top: float) -> Iterable[str]:
    ranges = ", ".join(f"{first} to {last}" for first, last in request.ranges) or "none"
    yield _text(MARGIN, top, f"request {request.req_id}: both ways {ranges}", "")
    if not request.num_tokens:
        return
    unit = SIDE / request.num_tokens
    left, above = MARGIN + LABEL, top + LINE
    yield f'<g transform="translate({left:.1f} {above:.1f})">'
    yield f'<rect class="frame" width="{SIDE:.0f}" height="{SIDE:.0f}"/>'
    if window is not None and window < request.num_tokens:
        yield _shape("cut", request.num_tokens, unit, None)
    for first, last in request.ranges:
        box = _box(first, last, unit)
        yield f'<rect class="ahead" {box}/><rect class="hatch" {box}/>'
    yield _shape("causal", request.num_tokens, unit, window)
    yield from (_outline_of(request, span, unit) for span in request.spans)
    yield "</g>"
    yield from _numbers(request, unit, left, above)


def _shape(kind: str, tokens: int, unit: float, window: int | None) -> str:
    """What is seen causally: below the diagonal, above the window's edge."""
    points = [(x * unit, y * unit) for x, y in _outline(tokens, window if window is not None else tokens)]
    return f'<path class="{kind}" d="M{"L".join(f"{x:.2f} {y:.2f}" for x, y in points)}Z"/>'


def _outline(tokens: int, window: int) -> Iterator[tuple[float, float]]:
    """The corners in tokens, (key, query): down the diagonal and back along the window's edge."""
    window = min(window, tokens)
    if tokens > MOST_STEPS:
        yield from [(0, 0), (tokens, tokens), (tokens - window, tokens), (0, window)]
        return
    for query in range(tokens):
        yield from [(query + 1, query), (query + 1, query + 1)]
    for query in reversed(range(tokens)):
        edge = max(0, query - window + 1)
        yield from [(edge, query + 1), (edge, query)]


def _outline_of(request: RequestAnswer, span: Span, unit: float) -> str:
    first, last = span.range
    modality = request.modalities[span.feature]
    how = f"stays causal: {span.skipped}" if span.skipped else "attends both ways"
    words = escape(safe(f"tokens {first} to {last}, {modality} of feature {span.feature}, {how}"), {'"': "&quot;"})
    box = _box(first, last, unit)
    head = f'<g class="cell" tabindex="0" role="img" aria-label="{words}"><title>{words}</title>'
    return f'{head}<rect class="{"left" if span.skipped else "both"}" {box}/></g>'


def _box(first: int, last: int, unit: float) -> str:
    at, side = first * unit, max((last + 1 - first) * unit, 0.0)
    return f'x="{at:.2f}" y="{at:.2f}" width="{side:.2f}" height="{side:.2f}"'


def _numbers(request: RequestAnswer, unit: float, left: float, top: float) -> Iterable[str]:
    """Token numbers down the side where there is room, those of the spans before the ends of the prompt."""
    taken: list[float] = []
    for token in (*(end for span in request.spans for end in span.range), 0, request.num_tokens - 1):
        y = (token + 0.5) * unit
        if 0 <= token < request.num_tokens and all(abs(y - other) >= 13 for other in taken):
            place = f'x="{left - 6:.1f}" y="{top + y + 4:.1f}"'
            yield f'<text class="dim" text-anchor="end" {place}>{token}</text>'
            taken.append(y)
    yield _text(left, top + SIDE + LINE - 4, "down: who asks · across: who is seen", "dim")


LEGEND = (
    ("causal", "seen causally, inside the window"),
    ("ahead", "ahead, seen because both lie in one range"),
    ("cut", "in the past, out of the window"),
    ("left", "a span that stays causal"),
)


def _legend(top: float) -> Iterable[str]:
    for i, (kind, words) in enumerate(LEGEND):
        y = top + i * LINE
        yield f'<rect class="{kind}" x="{MARGIN}" y="{y - 11:.1f}" width="14" height="14"/>'
        if kind == "ahead":
            yield f'<rect class="hatch" x="{MARGIN}" y="{y - 11:.1f}" width="14" height="14"/>'
        yield _text(MARGIN + 22, y, words, "")


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(safe(text))}</text>'
