"""KV502: `is_embed` does not fit its placeholder."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.subjects.document import DocumentSubject
from kvinspect.mm_prefix.findings import findings


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Masks of another length than their placeholder."""
    multimodal = subject.document.model.multimodal
    for problem in findings(multimodal.requests if multimodal else []):
        if problem.kind == "mask-length":
            yield Found(problem.path, f"the mask {problem.message}; the engine uses it unchanged")


RULE = Rule("KV502", "bad-embed-mask", ERROR, "is_embed and its placeholder differ in length", check)
