"""A failed start explained from its log, for programs."""

from __future__ import annotations

import shlex
import sys
from decimal import Decimal
from typing import Any, NamedTuple

from kvinspect.document.files import opened, printable, unreadable
from kvinspect.failed_starts.pieces import pieces
from kvinspect.failed_starts.read import Found, LastStart, last_start
from kvinspect.models.memory import Band, Memory
from kvinspect.question.tried import Tried

GIB = 1 << 30


class ExplainAnswer(NamedTuple):
    """The last start of a log, and where its model is known what comes of its flags and of changed ones."""

    start: LastStart
    command: tuple[str, ...] = ()
    """The words behind `vllm serve` of the log's start."""
    again: Tried | None = None
    """The flags of the log, planned again."""
    tried: tuple[Tried, ...] = ()
    not_planned: str = ""
    """Why nothing was planned."""
    left_out: tuple[str, ...] = ()
    """Arguments of the log that could not be read, or are no flags of the release."""

    @property
    def code(self) -> int:
        """The exit code: 0 started, 1 explained, 2 nothing that is known."""
        if self.start.started:
            return 0
        return 1 if self.start.failures or (self.start.warnings and not self.start.other_errors) else 2

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON."""
        start = self.start
        result = {0: "started", 1: "failed" if start.failures else "changed", 2: "unknown"}[self.code]
        return {
            "schema_version": 1,
            "source": start.log.source,
            "release": start.log.release,
            "result": result,
            "failures": [_failure(one) for one in start.failures],
            "warnings": [line.to_dict() for line in start.warnings],
            "other_errors": [line.to_dict() for line in start.other_errors],
            "command": f"vllm serve {shlex.join(self.command)}" if self.command else None,
            "planned_again": self.again.to_dict() if self.again else None,
            "tried": [one.to_dict() for one in self.tried],
            "not_planned": self.not_planned or None,
            "arguments_left_out": list(self.left_out),
        }


def _failure(found: Found) -> dict[str, Any]:
    line = {key: value for key, value in found.line.to_dict().items() if key != "kind"}
    about = {"name": found.failure.name, "part": found.failure.part, "draft": found.draft}
    return {**about, **line, "remedy": found.remedy, "changes": list(found.changes)}


def explain(name: str) -> ExplainAnswer:
    """Why the last start in a log failed: a file or a pipe of any size, or standard input (`-`).

    Nothing is planned: that takes the model. Raises DocumentError where it cannot be read.
    """
    source = "standard input" if name == "-" else printable(name)
    try:
        if name == "-":
            return ExplainAnswer(last_start(pieces(sys.stdin.buffer), source))
        with opened(name, pipes=True) as stream:
            return ExplainAnswer(last_start(pieces(stream), source))
    except (OSError, ValueError) as error:
        raise unreadable(source, error) from None


def logged_memory(start: LastStart) -> Memory | None:
    """The memory for the KV cache that the log names, rounded to 0.01 GiB; None where it names none or nothing."""
    said = [one.line.values["available"] for one in start.failures if one.failure.name == "too-small"]
    found = [gib for gib in (*said, *start.log.available_gib.values()) if isinstance(gib, Decimal)]
    if not found or min(found) <= 0:
        return None
    size, half = int(min(found) * GIB), GIB // 200
    return Memory(size, f"the log's, {min(found)} GiB", exact=False, band=Band(max(size - half, 0), size + half))
