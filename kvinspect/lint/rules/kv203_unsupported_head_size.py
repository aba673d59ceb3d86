"""KV203: a head size that the backend does not take."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.lint.rule import ERROR, Found, Rule
from kvinspect.lint.rules._fit import misfits
from kvinspect.lint.subject import Subject


def check(subject: Subject) -> Iterator[Found]:
    """What the backend's own class answers."""
    return misfits(subject, "head size")


RULE = Rule("KV203", "unsupported-head-size", ERROR, "a head size that the backend does not take", check)
