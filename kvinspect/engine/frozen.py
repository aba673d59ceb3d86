"""A mapping that is a value: it never changes, has a hash, and goes through pickle as it is."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Frozen(dict[K, V]):
    """A dictionary that cannot be written to.

    >>> hash(Frozen({"a": 1})) == hash(Frozen([("a", 1)]))
    True
    """

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return Frozen, (dict(self),)

    def _refuse(self, *args: Any, **more: Any) -> NoReturn:
        raise TypeError("a frozen mapping cannot be changed")

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse
