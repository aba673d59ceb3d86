"""What vLLM calls in each of its processes: the entry point of the group `vllm.general_plugins`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

logger = logging.getLogger("vllm.kvinspect")
"""Below vLLM's own logger, so that a line comes out where the engine's lines do."""

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


def quietly(action: Callable[[], Result]) -> Result | None:
    """What an action returns; where it fails, a warning in the engine's log and None.

    Nothing whatever leaves it: the engine's objects may raise SystemExit, an error may fail to say its words, and a
    handler of the log may raise as well.
    """
    try:
        return action()
    except BaseException as error:
        _warn(error)
        return None


def _warn(error: BaseException) -> None:
    try:
        logger.warning("kvinspect: the KV cache was not captured: %s: %s", type(error).__name__, _words(error))
    except BaseException:
        return


def _words(error: BaseException) -> str:
    """An exception's words, of an error of the file system without the path."""
    from kvinspect.output.safe import safe

    try:
        return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else safe(str(error)[:300])
    except BaseException:
        return "its message cannot be read"
