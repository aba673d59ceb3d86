"""Everything about one plan on a page: verdict, memory as a bar, groups, reasons, CUDA graphs, an allocation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kvinspect.planning.memory_sum import MemorySum
from kvinspect.report.html import Drawing, Part, html
from kvinspect.report.page_parts import Heading, Page, Span, spans
from kvinspect.report.plan_memory import GIB, gib
from kvinspect.report.svg import LINE, MARGIN, document, element, text, told

WIDTH, HEIGHT = 720, 34
"""Pixels of the bar."""

STYLE = """\
.w{fill:#a6cee3}.t{fill:#fdd49e}.c{fill:#b8e0b0}.u{fill:#d9d9d9}.cell rect{stroke:#1a1a1a}
.cell:focus rect,.cell:hover rect{stroke-width:3}
@media(prefers-color-scheme:dark){.cell rect{stroke:#ececec}}"""

Section = tuple[str, Page | Drawing]
"""A heading, and what stands under it."""


def plan_html(title: str, plan: Page, found: MemorySum | None, sections: Sequence[Section]) -> str:
    """The page of a plan; `found` is its memory where that is estimated."""
    return html(title, _parts(plan, found, sections))


def _parts(plan: Page, found: MemorySum | None, sections: Sequence[Section]) -> Iterator[Part]:
    verdict, *rest = plan.blocks
    yield verdict
    if found is not None:
        yield Drawing(memory_bar(found))
    yield from rest
    for name, section in sections:
        yield Heading(spans(Span(name, "strong")))
        if isinstance(section, Drawing):
            yield section
        else:
            yield from section.blocks


def memory_bar(found: MemorySum) -> str:
    """The memory of a GPU as a stacked bar: weights, what a start-up sets aside, the KV cache, and what is not used."""
    parts = [("weights", found.weights, "w"), *((name, size, "t") for name, size in found.terms)]
    parts += [("KV cache", max(found.left, 0), "c"), ("not for vLLM", found.gpu - found.requested, "u")]
    label = f"memory of each GPU: {found.gpu / GIB:.1f} GiB"
    body = [text(MARGIN, MARGIN + 12, label, "title"), *_bar(parts), *_legend(parts)]
    return document((WIDTH + 2 * MARGIN, 3 * MARGIN + HEIGHT + 2 * LINE), label, STYLE, body)


def _bar(parts: Sequence[tuple[str, int, str]]) -> Iterable[str]:
    whole, at = max(sum(size for _, size, _ in parts), 1), float(MARGIN)
    for name, size, kind in parts:
        width = WIDTH * size / whole
        bar = element("rect", kind=kind, x=at, y=MARGIN + LINE, width=width, height=HEIGHT)
        yield told("g", f"{name}: {gib(size)} GiB", bar)
        at += width


def _legend(parts: Sequence[tuple[str, int, str]]) -> Iterable[str]:
    aside = sum(size for _, size, kind in parts if kind == "t")
    last = [(name, size, kind) for name, size, kind in parts if kind in "cu"]
    named = [("weights", parts[0][1], "w"), ("start-up", aside, "t"), *last]
    top = MARGIN + 2 * LINE + HEIGHT
    for i, (name, size, kind) in enumerate(named):
        left = MARGIN + i * WIDTH / len(named)
        yield element("rect", kind=kind, x=left, y=top - 10, width=12, height=12)
        yield text(left + 18, top, f"{name} {gib(size)} GiB")
