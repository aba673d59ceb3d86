"""KV206: a backend that does not exist on this platform or compute capability."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._misfits import misfits
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """What the backend's own class answers, and which platform's kernels it is made of."""
    return misfits(subject, "platform")


RULE = Rule("KV206", "wrong-platform", ERROR, "a backend that does not run on this platform or device", check)
