"""KV103: K/V-first and blocks-first views share an allocation, and the engine leaves one unaligned."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.engine.wording.soundness import collision
from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import folded, layers_with
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Layers that the engine warns about once and leaves alone, with what then meets."""
    for path, layers, tensor in layers_with(subject, "skipped", "skipped"):
        clash = f"; {collision(tensor.conflict)}" if tensor.conflict else ""
        yield Found(path, f"{folded(layers)} are left unaligned: {tensor.why}{clash}", layers)


RULE = Rule(
    "KV103", "mixed-layouts-skipped", ERROR, "views of two layouts share an allocation and stay unaligned", check
)
