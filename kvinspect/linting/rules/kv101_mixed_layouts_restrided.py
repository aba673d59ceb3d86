"""KV101: K/V-first and blocks-first views share an allocation, and the engine restrides."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import NOTE, Found, Rule
from kvinspect.linting.rules._shared import folded, layers_with
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Restrided layers, by the entry that gives them their backend."""
    for path, layers, tensor in layers_with(subject, "restrided", "restrided"):
        yield Found(path, f"{folded(layers)} are restrided: {tensor.why}", layers)


RULE = Rule(
    "KV101", "mixed-layouts-restrided", NOTE, "views of two layouts share an allocation and are restrided", check
)
