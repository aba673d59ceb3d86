"""Whether a layer's backend takes the layer, as the backend's own class answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kvinspect.linting.rule import Found
from kvinspect.linting.subjects.document import DocumentSubject

Sort = Literal["head size", "cache dtype", "attention", "platform"]


def misfits(subject: DocumentSubject, sort: Sort) -> Iterator[Found]:
    """The attention groups whose backend does not take them for a reason of a sort."""
    for group, found in subject.misfits:
        for misfit in found:
            if misfit.sort == sort:
                path = subject.entry(group.layer_names[0])
                text = f"{group.backend.name} does not support {misfit.text}; {misfit.remedy}"
                yield Found(path, text, group.layer_names)
