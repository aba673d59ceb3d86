"""What every mapping of a document has in common."""

from __future__ import annotations

from typing import Any, ClassVar


class Entry:
    """A mapping of a document; a key that its class does not name is an error."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}
