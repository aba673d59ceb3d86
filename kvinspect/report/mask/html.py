"""The attention masks of requests as an HTML page."""

from __future__ import annotations

from kvinspect.mm_prefix.mm_prefix_answer import MMPrefixAnswer
from kvinspect.report import html as page
from kvinspect.report.mask.page import page as blocks_of
from kvinspect.report.mask.svg import svg
from kvinspect.report.page_parts import Paragraph, Picture, spans

KEY = "Each row is a query token, each column a key token."


def html(answer: MMPrefixAnswer) -> str:
    """The masks as a page: the verdict, the spans of each request, the drawing, and what is odd about the features."""
    title = f"{answer.setting.source.rsplit('/', 1)[-1]}: attention mask"
    verdict, subject, *rest = (block for block in blocks_of(answer).blocks if not isinstance(block, Picture))
    drawing = page.Drawing(svg(answer))
    return page.html(title, (verdict, subject, drawing, Paragraph(spans(KEY)), *rest))
