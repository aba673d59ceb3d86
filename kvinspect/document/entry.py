"""What every mapping of a document has in common."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from kvinspect.document.frozen import frozen


class Entry:
    """A mapping of a document; a key that its class does not name is an error. Two that say the same are equal."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.said == other.said if isinstance(other, Entry) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self).__name__, frozen(self.said)))

    @property
    def said(self) -> dict[str, Any]:
        """Key → what it says."""
        names: Iterable[str] = self.__slots__
        return {name: getattr(self, name) for name in names}
