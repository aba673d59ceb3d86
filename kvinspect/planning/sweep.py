"""Many plans of one model: what becomes of blocks and requests while engine arguments vary."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.problem import DocumentError, Problem, path_text
from kvinspect.engine.align_answer import SCHEMA_VERSION, AnswerHeader
from kvinspect.planning.plan_answer import PlanAnswer
from kvinspect.planning.sweep_axes import Axis


class Point(NamedTuple):
    """What comes out at one combination of values; the numbers are None where the engine refuses.

    `memory` is bytes for the cache of a worker, `blocks_per_request` and `bytes_per_request` are those of a request of
    `max_model_len` tokens.
    """

    values: Mapping[str, Any]
    num_blocks: int | None = None
    num_tokens: int | None = None
    max_concurrency: float | None = None
    max_model_len: int | None = None
    bytes_per_token: float | None = None
    fixed_bytes: int | None = None
    blocks_per_request: int | None = None
    bytes_per_request: int | None = None
    memory: int | None = None
    memory_how: str | None = None
    refusal: str | None = None
    longest_request: int | None = None
    """Tokens of the longest request that ever runs, where the longest that is taken does not."""

    def to_dict(self) -> dict[str, Any]:
        """The point as JSON; sizes in bytes, lengths in tokens."""
        return {**self._asdict(), "values": dict(self.values)}


def point_of(values: Mapping[str, Any], answer: PlanAnswer, memory: int, how: str) -> Point:
    """The point of a plan, which had a number of bytes for the cache of a worker."""
    found = answer.capacity
    cost = found.cost if found else None
    return Point(
        values=values,
        num_blocks=answer.num_blocks if answer.refusal is None else None,
        num_tokens=found.num_tokens if found else None,
        max_concurrency=found.max_concurrency if found else None,
        max_model_len=answer.deployment.max_model_len,
        bytes_per_token=cost.bytes_per_token if cost else None,
        fixed_bytes=cost.fixed_bytes if cost else None,
        blocks_per_request=cost.blocks if cost else None,
        bytes_per_request=cost.blocks * answer.workers[0].bytes_per_block if cost else None,
        memory=memory,
        memory_how=how,
        refusal=answer.refusal.text if answer.refusal else None,
        longest_request=answer.longest_request,
    )


def impossible(values: Mapping[str, Any], error: ValueError) -> Point:
    """The point of arguments that the model or the engine does not take."""
    if not isinstance(error, DocumentError):
        return Point(values, refusal=str(error))
    return Point(values, refusal="; ".join(map(_said, error.errors)))


def _said(problem: Problem) -> str:
    """A problem with the argument's name, where it does not begin with that itself."""
    name = path_text(problem.path)
    return problem.text if not name or problem.text.startswith(name) else f"{name}: {problem.text}"


class SweepAnswer(NamedTuple):
    """The points of a sweep, in the order of `points`."""

    setting: AnswerHeader
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    not_modelled: tuple[NotModelled, ...] = ()
    """What was given and is in none of the numbers, or not in all of them."""

    @property
    def clean(self) -> bool:
        """Whether the engine would start everywhere and every request would run."""
        return all(point.refusal is None and point.longest_request is None for point in self.points)

    @property
    def memory(self) -> str:
        """Where the memory of a worker comes from, without the numbers where they differ between the points."""
        found = list(dict.fromkeys(point.memory_how for point in self.points if point.memory_how))
        if len(found) == 1:
            return found[0]
        ends = {how.rpartition("; ")[2] for how in found}
        begins = {how.partition(":")[0] for how in found}
        return f"{' or '.join(sorted(begins))} for each plan" + (f"; {ends.pop()}" if len(ends) == 1 else "")

    def to_dict(self) -> dict[str, Any]:
        """The sweep as JSON; how many blocks there are is said of each point."""
        setting = {key: value for key, value in self.setting.to_dict().items() if key != "num_blocks"}
        return {
            "schema_version": SCHEMA_VERSION,
            **setting,
            "memory": self.memory,
            "axes": {axis.name: list(axis.values) for axis in self.axes},
            "not_modelled": [one.to_dict() for one in self.not_modelled],
            "points": [point.to_dict() for point in self.points],
        }
