"""The answers to a document by the shipped catalogue and by the installed vLLM, compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

_WHO = ("engine", "release", "engine_source", "source")
"""Keys of an answer that say who was asked."""


class Difference(NamedTuple):
    """A value of a command's answer that the installed vLLM answers otherwise."""

    command: str
    path: str
    shipped: Any
    installed: Any


class CatalogueComparison(NamedTuple):
    """The differences of a document's answers; `engine` is the installed vLLM's version."""

    source: str
    engine: str
    release: str
    """The shipped release that was compared."""
    commands: tuple[str, ...]
    differences: tuple[Difference, ...]

    @property
    def clean(self) -> bool:
        """Whether both say the same."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON knows it."""
        rows = [row._asdict() for row in self.differences]
        return {**self._asdict(), "commands": list(self.commands), "differences": rows}


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(path, ours, theirs) of every leaf that differs."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in {**ours, **theirs}:
            if path or key not in _WHO:
                yield from differences(ours.get(key), theirs.get(key), f"{path}.{key}" if path else key)
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(*pair, f"{path}[{i}]")
    elif ours != theirs:
        yield path, ours, theirs
