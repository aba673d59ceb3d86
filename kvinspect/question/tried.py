"""Whether a start that failed succeeds with other flags: each asked again, its CUDA graphs too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple, get_args

from kvinspect.question.change import WouldFit
from kvinspect.question.model import ModelQuestion

Result = Literal["starts", "may start", "does not start", "not planned"]


class Tried(NamedTuple):
    """Flags, what comes of a start with them, and why it fails or cannot be planned."""

    flags: str
    result: Result
    why: str = ""
    concurrency: float | None = None
    """Concurrent requests of the maximum length."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return self._asdict()


def tried(changes: Iterable[str], ask: Callable[[str], ModelQuestion]) -> Iterator[Tried]:
    """What comes of each change; `ask` plans with it, or raises ValueError where nothing can be planned."""
    for flags in dict.fromkeys(changes):
        try:
            yield _result(flags, ask(flags))
        except ValueError as error:
            yield Tried(flags, "not planned", str(error))


def best_first(found: Iterable[Tried]) -> tuple[Tried, ...]:
    """Those that start before those that may, each change once."""
    by_flags = {one.flags: one for one in found}
    return tuple(sorted(by_flags.values(), key=lambda one: get_args(Result).index(one.result)))


def of_would_fit(change: WouldFit) -> Tried:
    """A change with which the model fits, or may."""
    result: Result = "starts" if change.verdict == "fits" else "may start"
    return Tried(change.change.flags, result, "", change.requests[0])


def _result(flags: str, asked: ModelQuestion) -> Tried:
    found = asked.plan
    refusal = found.plan.refusal or asked.cache.cg_support.refusal
    may = found.verdict == "tight"
    if refusal:
        return Tried(flags, "may start" if may else "does not start", refusal.text)
    many = found.plan.capacity.max_concurrency if found.plan.capacity else None
    return Tried(flags, "may start" if may else "starts" if found.clean else "does not start", "", many)
