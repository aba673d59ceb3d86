"""KV205: MLA, sparse, sinks, windows, encoder or cross attention where the backend has none."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._misfits import misfits
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """What the backend's own class answers."""
    return misfits(subject, "attention")


RULE = Rule("KV205", "unsupported-attention-type", ERROR, "an attention type that the backend does not support", check)
