"""KV504: placeholders that overlap, lie past the prompt or have no length, or requests of one name."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.subjects.document import DocumentSubject
from kvinspect.mm_prefix.findings import findings


def check(subject: DocumentSubject) -> Iterator[Found]:
    """What else is odd about the features of a request."""
    multimodal = subject.document.model.multimodal
    for problem in findings(multimodal.requests if multimodal else []):
        if problem.kind != "mask-length":
            yield Found(problem.path, f"{problem.kind}: this {problem.message}")


RULE = Rule("KV504", "odd-placeholder", WARNING, "placeholders that no processor produces", check)
