"""A list of what kvinspect knows, as an answer: `kvinspect gpus` and `kvinspect models`."""

from __future__ import annotations

from typing import Any, NamedTuple


class Listed(NamedTuple):
    """Rows under the key that JSON has for them; a row is a name, or a value with `to_dict`."""

    key: str
    rows: tuple[Any, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the list as JSON."""
        return {self.key: [row if isinstance(row, str) else row.to_dict() for row in self.rows]}
