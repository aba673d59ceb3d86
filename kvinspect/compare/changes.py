"""What two mappings differ in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvinspect.document.frozen import Frozen, frozen

Changes = Mapping[str, tuple[Any, Any]]
"""What → (in A, in B)."""


Facts = dict[str, Any]
"""What is compared → its value."""


def changes_dict(changes: Changes) -> dict[str, Any]:
    """Changes as JSON."""
    return {key: {"a": a, "b": b} for key, (a, b) in changes.items()}


def changed(a: Facts, b: Facts) -> Changes:
    """The keys under which two mappings differ, in the order of the first.

    >>> changed({"x": 1, "y": 2}, {"x": 1, "y": 3, "z": 4})
    {'y': (2, 3), 'z': (None, 4)}
    """
    keys = (*a, *(key for key in b if key not in a))
    return Frozen({key: (frozen(a.get(key)), frozen(b.get(key))) for key in keys if a.get(key) != b.get(key)})
