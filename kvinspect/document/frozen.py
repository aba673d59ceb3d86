"""Mappings and lists that are values: they never change, have a hash, and go through pickle as they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


def _refuse(self: object, *args: Any, **more: Any) -> NoReturn:
    raise TypeError("a frozen value cannot be changed")


class Frozen(dict[K, V]):
    """A dictionary that cannot be written to.

    >>> hash(Frozen({"a": 1})) == hash(Frozen([("a", 1)]))
    True
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (dict(self),)

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse


class FrozenList(list[V]):
    """A list that cannot be written to."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse


def frozen(value: Any) -> Any:
    """What a text says, so that nothing in it can be changed.

    >>> found = frozen({"sizes": [1, 2]})
    >>> found == {"sizes": [1, 2]}, hash(found) == hash(frozen({"sizes": [1, 2]}))
    (True, True)
    """
    if isinstance(value, (Frozen, FrozenList)):
        return value
    if isinstance(value, Mapping):
        return Frozen({key: frozen(inner) for key, inner in value.items()})
    return FrozenList(map(frozen, value)) if isinstance(value, list) else value
