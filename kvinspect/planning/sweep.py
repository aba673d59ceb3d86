"""Many plans of one model: what becomes of blocks and requests while engine arguments vary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from kvinspect.document.numbers import human_number
from kvinspect.document.problem import DocumentError, Problem, path_text
from kvinspect.engine.answer import SCHEMA_VERSION, Setting
from kvinspect.planning.answer import PlanAnswer

MAX_POINTS = 100_000
_RANGE = re.compile(r"([^.]+)\.\.([^.]+?)(?:\.\.([^.]+))?")


class Axis(NamedTuple):
    """An engine argument and the values that it takes, as the command line would."""

    name: str
    values: tuple[Any, ...]


def axis(text: str) -> Axis:
    """`name=a,b,c`, `name=8k..1M` (doubling, both ends in) or `name=4096..16384..4096` (in steps). Raises ValueError.

    >>> axis("max-model-len=8k..32k").values
    (8000, 16000, 32000)
    """
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise ValueError(f"expected NAME=VALUES such as max_model_len=8k..1M, found {text!r}")
    found = [value for part in values.split(",") for value in _values(part.strip())]
    return Axis(name.strip().replace("-", "_"), tuple(dict.fromkeys(found)))


def _values(part: str) -> Sequence[Any]:
    bounds = _RANGE.fullmatch(part)
    if not bounds:
        return (_number_or_word(part),)
    low, high = human_number(bounds[1]), human_number(bounds[2])
    step = human_number(bounds[3]) if bounds[3] else None
    if not 0 < low <= high or step == 0:
        raise ValueError(f"expected a range from a smaller number above 0 to a larger one, found {part!r}")
    if step:
        if (high - low) // step >= MAX_POINTS:
            raise ValueError(f"{part!r} has more than {MAX_POINTS:,} values")
        return range(low, high + 1, step)
    doubled = [low << i for i in range((high // low).bit_length())]
    return doubled if doubled[-1] == high else [*doubled, high]


def _number_or_word(part: str) -> int | str:
    try:
        return human_number(part)
    except ValueError:
        return part


def points(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """Every combination of the axes' values, the last axis the fastest. Raises ValueError where they are too many."""
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ValueError(f"{twice} is swept twice")
    count = 1
    for one in axes:
        count *= len(one.values)
    if count > MAX_POINTS:
        raise ValueError(f"{count:,} points are more than {MAX_POINTS:,}")
    return [dict(zip(names, values, strict=True)) for values in product(*(axis.values for axis in axes))]


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

    def to_dict(self) -> dict[str, Any]:
        """The point as JSON; sizes in bytes, lengths in tokens."""
        return {**self._asdict(), "values": dict(self.values)}


def point_of(values: Mapping[str, Any], answer: PlanAnswer, memory: int, how: str) -> Point:
    """The point of a plan, which had so many bytes for the cache of a worker."""
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

    setting: Setting
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]

    @property
    def clean(self) -> bool:
        """Whether the engine would start everywhere."""
        return all(point.refusal is None for point in self.points)

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
            "points": [point.to_dict() for point in self.points],
        }
