"""What is shown while something outside this process is waited for: nothing, unless the program says how."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

Shown = Callable[[str], AbstractContextManager[None]]

_shown: Shown | None = None


def show(how: Shown | None) -> None:
    """Show from now on what is waited for, or nothing any more."""
    global _shown
    _shown = how


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Wait for something, in words, which may come from outside."""
    if _shown is None:
        yield
        return
    with _shown(what):
        yield
