"""KV301: the requested CUDA graph mode becomes a weaker one."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.rules._graphs import culprits, decided, loses_to_speculation, written
from kvinspect.linting.rules._shared import MODE
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """A mode that the document asks for and does not get; where speculation is the reason, KV303 says so."""
    found = decided(subject)
    if found is None or not written(subject):
        return
    decision, running = found
    if running.mode is None or running.mode is decision.request.mode or loses_to_speculation(decision):
        return
    steps = "; ".join(f"{step.target.name}: {step.why}" for step in running.steps)
    text = (
        f"{decision.request.mode.name} becomes {running.mode.name} ({steps}); run kvinspect cg-support for changes "
        "that restore it"
    )
    yield Found(MODE, text, culprits(decision))


RULE = Rule("KV301", "cudagraph-downgraded", WARNING, "the requested CUDA graph mode becomes a weaker one", check)
