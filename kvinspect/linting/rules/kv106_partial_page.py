"""KV106: an allocation's size is not a multiple of the page size."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import at_refusal
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The engine's refusal of a size."""
    return at_refusal(
        subject,
        "partial-page",
        "make it a multiple of the page size, or remove kv_cache_tensors so that vLLM's own rule places the layers",
    )


RULE = Rule("KV106", "partial-page", ERROR, "an allocation's size is not a multiple of the page size", check)
