"""KV302: the engine stops because of the requested CUDA graph mode."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._graphs import culprits, decided, written
from kvinspect.linting.rules._shared import MODE
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Any refusal but that over state-space blocks."""
    found = decided(subject)
    if found is None or found[1].error is None or found[1].error.kind == "state-blocks":
        return
    path = MODE if written(subject) else MODE[:1] if MODE[0] in subject.raw else ("kv_cache_config",)
    yield Found(path, f"vLLM stops at start-up: {found[1].error.text}", culprits(found[0]))


RULE = Rule("KV302", "cudagraph-refused", ERROR, "the engine stops because of the requested CUDA graph mode", check)
