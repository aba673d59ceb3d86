"""KV203: a head size that the backend does not support."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, WARNING, Found, Rule
from kvinspect.linting.rules._misfits import misfits
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """What the backend's own class answers. The CPU's platform never asks it (`CpuPlatform.get_attn_backend_cls`)."""
    unasked = subject.document.model.platform == "cpu"
    for found in misfits(subject, "head size"):
        message = f"{found.message}; on a CPU vLLM does not check this, and starts" if unasked else found.message
        yield found._replace(message=message, severity=WARNING if unasked else None)


RULE = Rule("KV203", "unsupported-head-size", ERROR, "a head size that the backend does not support", check)
