"""Many plans of one model: what becomes of blocks and requests while engine arguments vary."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from kvinspect.document.numbers import human_number
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
    """What comes out at one combination of values; the numbers are None where the engine refuses."""

    values: Mapping[str, Any]
    num_blocks: int | None
    num_tokens: int | None
    max_concurrency: float | None
    max_model_len: int
    bytes_per_token: float | None
    fixed_bytes: int | None
    refusal: str | None

    def to_dict(self) -> dict[str, Any]:
        """The point as JSON; sizes in bytes, lengths in tokens."""
        return {**self._asdict(), "values": dict(self.values)}


def point_of(values: Mapping[str, Any], answer: PlanAnswer) -> Point:
    """The point of a plan."""
    found = answer.capacity
    return Point(
        values=values,
        num_blocks=answer.num_blocks if answer.refusal is None else None,
        num_tokens=found.num_tokens if found else None,
        max_concurrency=found.max_concurrency if found else None,
        max_model_len=answer.deployment.max_model_len,
        bytes_per_token=found.cost.bytes_per_token if found else None,
        fixed_bytes=found.cost.fixed_bytes if found else None,
        refusal=answer.refusal.text if answer.refusal else None,
    )


class SweepAnswer(NamedTuple):
    """The points of a sweep, in the order of `points`, all with the same memory for a worker."""

    setting: Setting
    memory: str
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]

    @property
    def clean(self) -> bool:
        """Whether the engine would start somewhere."""
        return any(point.refusal is None for point in self.points)

    def to_dict(self) -> dict[str, Any]:
        """The sweep as JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            **self.setting.to_dict(),
            "memory": self.memory,
            "axes": {axis.name: list(axis.values) for axis in self.axes},
            "points": [point.to_dict() for point in self.points],
        }
