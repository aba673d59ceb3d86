"""What vLLM calls in each of its processes: the entry point of the group `vllm.general_plugins`."""

from __future__ import annotations

import os

from kvinspect.capture.quiet import quietly

VARIABLE = "KVINSPECT_CAPTURE"
"""The environment variable that turns the capture on: where the document goes."""


def register() -> None:
    """Have the engine write its KV cache to the path in `KVINSPECT_CAPTURE`; nothing where that is not set.

    vLLM calls this once a process, unguarded, so nothing may leave it but a warning.
    """
    path = os.environ.get(VARIABLE)
    if path:
        quietly(lambda: _install(path))


def _install(path: str) -> None:
    from kvinspect.capture.hook import install

    install(path)
