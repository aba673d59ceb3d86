"""A start-up log explained, and held against the plan of the same model."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from kvinspect.api.plan_model import ModelPlan
from kvinspect.engine import releases
from kvinspect.engine.refusal import Unknown
from kvinspect.models.memory import Memory
from kvinspect.planning.log_comparison import Compared, comparison, memory_range
from kvinspect.planning.start_up_log import StartUpLog, read_start_up_log


class LogAnswer(NamedTuple):
    """A log, and where a model was named the plan and each of the log's numbers beside it."""

    log: StartUpLog
    plan: ModelPlan | None = None
    rows: tuple[Compared, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether the log says nothing that the plan does not."""
        return all(row.agrees for row in self.rows) and (self.plan is None or self.plan.clean)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON."""
        compared = {"compared": [row.to_dict() for row in self.rows]} if self.plan else {}
        return {"schema_version": 1, "log": self.log.to_dict(), **compared}


def read_log(name: str) -> StartUpLog:
    """The log in a file, or on standard input (`-`). Raises OSError where the file cannot be read."""
    if name == "-":
        return read_start_up_log(sys.stdin, "standard input")
    with pathlib.Path(name).open(encoding="utf-8", errors="replace") as lines:
        return read_start_up_log(lines, name)


def release_in(log: StartUpLog) -> str | None:
    """The release of a log where its rules are known, else None."""
    try:
        return releases.known(log.release) if log.release else None
    except Unknown:
        return None


def against_plan(log: StartUpLog, plan: Callable[[Memory], ModelPlan], given: Memory | None) -> LogAnswer:
    """The log against the plan with the memory that it tells of, or with what was `given`.

    Raises ValueError where neither says how much memory there is.
    """
    found = memory_range(log)
    if given is not None:
        low = high = plan(given)
    elif found is not None:
        how = "the log's, which is rounded to 0.01 GiB"
        low, high = (plan(Memory(size, how, exact=False)) for size in found)
    else:
        raise ValueError("the log does not say how much memory there is for the cache; give it")
    return LogAnswer(log, high, comparison(log, low.plan, high.plan))
