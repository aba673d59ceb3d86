"""The attention masks of requests as an HTML page."""

from __future__ import annotations

from kvinspect.mm_prefix.mm_prefix_answer import MMPrefixAnswer
from kvinspect.report import html as page
from kvinspect.report.mask.svg import svg

KEY = (
    "Each row is a token that asks, each column a token that may be seen. Point at a span, or step through them with "
    "Tab and the arrow keys."
)


def html(answer: MMPrefixAnswer) -> str:
    """The masks as a page, with what is odd about the features."""
    title = f"{answer.setting.source.rsplit('/', 1)[-1]}: attention mask"
    findings = tuple(f"{found.where}: {found.text}" for found in answer.findings)
    return page.html(title, (KEY, *findings), svg(answer))
