"""Nothing that goes wrong in a capture reaches the engine: it becomes a warning in the engine's log."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

logger = logging.getLogger("vllm.kvinspect")
"""Below vLLM's own logger, so that a line appears where the engine's lines do."""


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
