"""The steps of the engine's start-up, and that a refusal inside one happens at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refused
from kvinspect.geometry import ViewError


@contextmanager
def stage(name: str, function: str = "", path: Path = ()) -> Iterator[None]:
    """Refusals inside happen at this stage of the start-up; a view that cannot be made is the engine's RuntimeError."""
    try:
        yield
    except ViewError as error:
        raise Refused("RuntimeError", str(error), function=function, stage=name, path=path) from None
    except Refused as refused:
        refused.refusal = refused.refusal.within(name, function, path)
        raise
