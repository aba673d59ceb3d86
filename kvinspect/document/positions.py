"""Where a path of a document stands in its text: what the positions of every format answer.

`json_positions` and `yaml_positions` find them; `Source.placed` gives problems theirs, and `linting/positions.py`
findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kvinspect.document.problem import Mark, Path


class Positions(Protocol):
    """Finds the place of a path in a text, and how a value was written there."""

    def written(self, path: Path) -> str | None:
        """The plain text of the scalar at `path`, None where it was quoted, is no scalar or is not there."""

    def locate(self, path: Path, at_key: bool) -> Mark | None:
        """The mark of the value at `path` (or of its key), or of the nearest parent that is there."""


def line_of(lines: Sequence[str], mark: Mark | None) -> str:
    """The line of a mark, "" where there is none."""
    return lines[mark.line - 1] if mark is not None and 0 < mark.line <= len(lines) else ""
