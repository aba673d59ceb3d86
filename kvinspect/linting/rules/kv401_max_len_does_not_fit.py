"""KV401: one request of the longest length needs more cache than there is."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import refused
from kvinspect.linting.subjects.document import DocumentSubject

LENGTH = ("model_config", "max_model_len")


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The planner's refusal for want of memory, which says the longest request that fits."""
    refusal = refused(subject, "memory")
    if refusal:
        said = "max_model_len" in (subject.raw.get("model_config") or {})
        yield Found(LENGTH if said else ("available_memory",), refusal.text)


RULE = Rule(
    "KV401", "max-len-does-not-fit", ERROR, "one request of max_model_len needs more KV cache than available", check
)
