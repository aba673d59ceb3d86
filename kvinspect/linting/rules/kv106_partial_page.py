"""KV106: an allocation's size is no whole number of pages."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import at_refusal
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The engine's refusal of a size."""
    return at_refusal(subject, "partial-page", "make it a multiple, or leave kv_cache_tensors to vLLM's own rule")


RULE = Rule("KV106", "partial-page", ERROR, "an allocation's size is no whole number of pages", check)
