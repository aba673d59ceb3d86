"""KV105: `page_size_padded` where blocks are not outermost, or smaller than the page."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import at_refusal
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The engine's refusal to pad."""
    return at_refusal(subject, "padded-page", "remove page_size_padded, or use a backend that puts the blocks first")


RULE = Rule("KV105", "padded-page-kv-first", ERROR, "page_size_padded under a layout that cannot be padded", check)
