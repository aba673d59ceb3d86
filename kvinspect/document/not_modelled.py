"""What was given and no answer takes into account, as a value."""

from __future__ import annotations

from typing import Any, NamedTuple


class NotModelled(NamedTuple):
    """A flag, variable or part of the model that touches the cache and that the numbers leave out.

    What is left out makes the cache smaller and the CUDA graph mode no better where `at_most`; elsewhere an answer may
    be wrong in either direction.
    """

    name: str
    what: str
    at_most: bool = False

    def to_dict(self) -> dict[str, Any]:
        """What is left out, as JSON has it."""
        return {"name": self.name, "what": self.what}
