"""The attention masks of requests as SVG, drawn to scale however long a prompt is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvinspect.document.numbers import counted
from kvinspect.mm_prefix.mm_prefix_answer import MMPrefixAnswer, RequestAnswer
from kvinspect.mm_prefix.ranges import Span
from kvinspect.report.svg import LINE, MARGIN, document, element, hatching, number, text, told

SIDE, LABEL = 420, 64
"""Pixels: of a mask, of the token numbers on its left."""

MOST_STEPS = 96
"""Up to so many tokens a mask has the steps of its tokens, beyond them a straight edge."""

STYLE = """\
.frame{fill:none;stroke:#8c8c8c}
.causal{fill:#a6cee3}.cut{fill:#ececec}.ahead{fill:#fdd49e}.both{fill:#0000;stroke:#1a1a1a}.hatch{fill:url(#ahead)}
.left{fill:#0000;stroke:#c1121f;stroke-dasharray:4 3}.cell:focus rect,.cell:hover rect{stroke-width:3}
@media(prefers-color-scheme:dark){.causal{fill:#4a7a96}
.cut{fill:#2a2d34}.ahead{fill:#b07d3c}.both{stroke:#ececec}.left{stroke:#ff6b6b}}"""


def svg(answer: MMPrefixAnswer) -> str:
    """The masks of all requests, one below the other."""
    body, top = [text(MARGIN, MARGIN + 12, _title(answer), "title")], MARGIN + 2 * LINE
    for request in answer.requests:
        body.extend(_request(request, answer.sliding_window, top))
        top += 2 * LINE + (SIDE + 2 * LINE if request.num_tokens else 0)
    body.extend(_legend(top))
    size = max(2 * MARGIN + LABEL + SIDE + 60, 560), top + 4 * LINE + MARGIN
    return document(size, _title(answer), STYLE, body, [hatching("ahead", "#0005")])


def _title(answer: MMPrefixAnswer) -> str:
    window = f"window of {counted(answer.sliding_window, 'token')}" if answer.sliding_window else "no window"
    return f"{answer.setting.source.rsplit('/', 1)[-1]}: attention mask, {window}"


def _request(request: RequestAnswer, window: int | None, top: float) -> Iterable[str]:
    ranges = ", ".join(f"{first} to {last}" for first, last in request.ranges) or "none"
    yield text(MARGIN, top, f"request {request.req_id}: both ways {ranges}")
    if not request.num_tokens:
        return
    unit = SIDE / request.num_tokens
    left, above = MARGIN + LABEL, top + LINE
    yield element("g", *_mask(request, unit, window), transform=f"translate({left} {number(above)})")
    yield from _numbers(request, unit, left, above)


def _mask(request: RequestAnswer, unit: float, window: int | None) -> Iterable[str]:
    yield element("rect", kind="frame", width=SIDE, height=SIDE)
    if window is not None and window < request.num_tokens:
        yield _shape("cut", request.num_tokens, unit, None)
    for first, last in request.ranges:
        yield from (_square(kind, first, last, unit) for kind in ("ahead", "hatch"))
    yield _shape("causal", request.num_tokens, unit, window)
    yield from (_outline_of(request, span, unit) for span in request.spans)


def _shape(kind: str, tokens: int, unit: float, window: int | None) -> str:
    """What is seen causally: below the diagonal, above the window's edge."""
    points = _outline(tokens, window if window is not None else tokens)
    corners = "L".join(f"{number(x * unit)} {number(y * unit)}" for x, y in points)
    return element("path", kind=kind, d=f"M{corners}Z")


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
    how = f"stays causal: {span.skipped}" if span.skipped else "attends bidirectionally"
    words = f"tokens {first} to {last}, {modality} of feature {span.feature}, {how}"
    return told("g", words, _square("left" if span.skipped else "both", first, last, unit))


def _square(kind: str, first: int, last: int, unit: float) -> str:
    """The square of a range of tokens on the diagonal."""
    at, size = first * unit, max((last + 1 - first) * unit, 0.0)
    return element("rect", kind=kind, x=at, y=at, width=size, height=size)


def _numbers(request: RequestAnswer, unit: float, left: float, top: float) -> Iterable[str]:
    """Token numbers down the side where there is room, those of the spans before the ends of the prompt."""
    taken: list[float] = []
    for token in (*(end for span in request.spans for end in span.range), 0, request.num_tokens - 1):
        y = (token + 0.5) * unit
        if 0 <= token < request.num_tokens and all(abs(y - other) >= 13 for other in taken):
            yield text(left - 6, top + y + 4, str(token), "dim", "end")
            taken.append(y)
    yield text(left, top + SIDE + LINE - 4, "down: who asks · across: who is seen", "dim")


LEGEND = (
    ("causal", "seen causally, inside the window"),
    ("ahead", "ahead, seen because both lie in one range"),
    ("cut", "in the past, out of the window"),
    ("left", "a span that stays causal"),
)


def _legend(top: float) -> Iterable[str]:
    for i, (kind, words) in enumerate(LEGEND):
        y = top + i * LINE
        for fill in (kind, "hatch") if kind == "ahead" else (kind,):
            yield element("rect", kind=fill, x=MARGIN, y=y - 11, width=14, height=14)
        yield text(MARGIN + 22, y, words)
