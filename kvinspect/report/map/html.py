"""A picture of an allocation as an HTML page."""

from __future__ import annotations

from kvinspect.report import html as page
from kvinspect.report.map.scene import Scene
from kvinspect.report.map.svg import svg
from kvinspect.report.page_parts import Heading, Paragraph, Span, Spans, spans

KEY = (
    "Each cell is a block with its ID, after K or V where a view keeps them apart (values are hatched). A red frame "
    "and ! mark bytes that another block shares."
)


def html(scene: Scene, source: str, verdict: Spans, why: str) -> str:
    """The scene as a page: the verdict, the picture, and the sentence that says what was decided and why."""
    name = source.rsplit("/", 1)[-1]
    head = (Heading(verdict), Paragraph(spans(Span(name, "strong"), f" · {scene.title}")), Paragraph(spans(why)))
    return page.html(f"{name}: {scene.title}", (*head, page.Drawing(svg(scene, source)), Paragraph(spans(KEY))))
