"""KV204: a KV cache dtype that the backend does not support."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._misfits import misfits
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """What the backend's own class answers."""
    return misfits(subject, "cache dtype")


RULE = Rule("KV204", "unsupported-kv-cache-dtype", ERROR, "a KV cache dtype that the backend does not support", check)
