"""A start-up log explained, and held against the plan of the same model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from kvinspect.document.files import printable, read_bounded, read_standard_input
from kvinspect.document.limits import MAX_LOG_BYTES
from kvinspect.document.problem import DocumentError, Mark, Problem
from kvinspect.document.refusal import Unknown
from kvinspect.engine.align_answer import refusal_dict
from kvinspect.models.memory import Band, Memory
from kvinspect.question.model import ModelPlan
from kvinspect.releases import lookup
from kvinspect.start_up_log.plan_comparison import Compared, comparison, memory_range
from kvinspect.start_up_log.reader import StartUpLog, read_start_up_log


class LogAnswer(NamedTuple):
    """A log, and where a model was named the plan and each of the log's numbers beside it."""

    log: StartUpLog
    plan: ModelPlan | None = None
    rows: tuple[Compared, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether the engine of the log starts, and the log says nothing that the plan does not."""
        return (
            self.log.starts is not False
            and all(row.agrees for row in self.rows)
            and (self.plan is None or self.plan.clean)
        )

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON."""
        compared = {"compared": [row.to_dict() for row in self.rows], "plan": _plan(self.plan)} if self.plan else {}
        return {"schema_version": 1, "log": self.log.to_dict(), **compared}


def _plan(found: ModelPlan) -> dict[str, Any]:
    """The plan in short: the release that it is of, the memory in bytes, and why the engine refuses, if it does."""
    refusal = found.plan.refusal
    error = {"stage": refusal.stage, **refusal_dict(refusal)} if refusal else None
    setting = found.plan.setting
    return {"engine": setting.engine, "release": setting.release, "memory": found.memory._asdict(), "error": error}


def measured(name: str) -> Memory:
    """The memory that a start-up had, as its log prints it: that of the worker with least, to a hundredth of a GiB.

    Raises DocumentError as `read_log`, ValueError where the log does not say how much there was.
    """
    found = read_log(name).available_gib
    if not found:
        raise ValueError(f"{printable(name)} does not say how much memory was available for the KV cache")
    gib = min(found.values())
    size, half = int(gib * (1 << 30)), (1 << 30) // 200
    how = (
        f"measured: {gib} GiB in the start-up of {printable(name)}, for the same GPU, weights, batches and utilization"
    )
    return Memory(max(size, 0), how, exact=False, band=Band(max(size - half, 0), max(size + half, 0)))


def read_log(name: str) -> StartUpLog:
    """The log in a file or a pipe, or on standard input (`-`).

    Raises DocumentError where it cannot be read, is too large, or tells nothing of the KV cache.
    """
    source = "standard input" if name == "-" else printable(name)
    what = "a start-up log"
    data = (
        read_standard_input(MAX_LOG_BYTES, source, what)
        if name == "-"
        else read_bounded(name, MAX_LOG_BYTES, what, pipes=True)
    )
    # A byte that is not UTF-8 spoils no more than its own line.
    log = read_start_up_log(data.decode("utf-8", "replace"), source)
    if not log.lines:
        expected = "a start-up log of vLLM, 0.19 or later"
        raise _failed(source, expected=expected, found="no line about the KV cache")
    return log


def _failed(source: str, **what: Any) -> DocumentError:
    return DocumentError([Problem((), source=source, **what)])


def release_in(log: StartUpLog) -> str | None:
    """The release whose rules a log is held against, None where the log does not tell.

    A build's suffix (`0.27.1+cpu`) makes no other release. Raises DocumentError for a release that is not known.
    """
    if not log.release:
        return None
    try:
        return lookup.known(log.release.partition("+")[0])
    except Unknown as unknown:
        hint = "--engine RELEASE holds the log against the plan of another release"
        mark = Mark(log.of("release")[-1].number, 1)
        what = {"expected": unknown.expected, "found": f"vLLM {log.release}", "hint": hint, "kind": unknown.kind}
        raise _failed(log.source, mark=mark, **what) from None


def against_plan(log: StartUpLog, plan: Callable[[Memory], ModelPlan], given: Memory | None) -> LogAnswer:
    """The log against the plan with the memory that it tells of, or with what was `given`.

    Raises ValueError where neither says how much memory there is, or the log has no number that a plan has.
    """
    found = memory_range(log)
    if given is not None:
        low = high = plan(given)
    elif found is not None:
        how = "the log's, which is rounded to 0.01 GiB"
        low, high = (plan(Memory(size, how, exact=False)) for size in found)
    else:
        raise ValueError("the log does not say how much memory there is for the cache; give it")
    rows = comparison(log, low.plan, high.plan)
    if not rows:
        raise ValueError(f"{log.source}: expected a line with the size of the KV cache to hold against the plan")
    return LogAnswer(log, high, rows)
