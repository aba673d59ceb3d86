"""Which release of vLLM a text tells a package manager to install."""

from __future__ import annotations

import re
from collections.abc import Iterator

_PIN = re.compile(
    r"(?<![\w./-])vllm(?:\[[\w, -]*\])?\s*==\s*v?(0\.\d{1,3}(?:\.\d{1,3})?)(?!\.?(?:\d|rc|dev))", re.ASCII
)


def in_text(text: str) -> Iterator[tuple[int, str]]:
    """(where its first digit stands, release) of each `vllm==…` of a text, in their order.

    >>> list(in_text("pip install 'vllm[audio]==0.28.0'"))
    [(26, '0.28.0')]
    """
    return ((found.start(1), found[1]) for found in _PIN.finditer(text))
