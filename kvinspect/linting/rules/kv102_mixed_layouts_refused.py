"""KV102: K/V-first and blocks-first views share an allocation, and the engine's alignment stops at start-up."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import GROUPS, folded, layers_with
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Layers whose alignment is refused; where the engine cannot even ask for block dims, the cache as a whole."""
    found = list(layers_with(subject, "refused", "refused"))
    for path, layers, tensor in found:
        yield Found(path, f"{folded(layers)}: {tensor.why}; give both groups backends with the same layout", layers)
    refusal = subject.soundness.refusal if subject.soundness else None
    if refusal and not found:
        yield Found(refusal.path or GROUPS, f"vLLM stops at start-up with {refusal.type}: {refusal.text}")


RULE = Rule(
    "KV102", "mixed-layouts-refused", ERROR, "views of two layouts share an allocation; the engine stops", check
)
