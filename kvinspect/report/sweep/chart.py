"""Where the points of a sweep lie: the first axis on x, concurrent requests on y, a line for each of the others."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any, NamedTuple

from kvinspect.document.numbers import counted
from kvinspect.planning.sweep import Point, SweepAnswer
from kvinspect.report.sweep.ticks import linear, logarithmic

LOG_FROM = 8
"""A scale is logarithmic from this ratio of its ends on."""


class Mark(NamedTuple):
    """A point: both places from 0 to 1, None upwards where the engine refuses, and what it is in words."""

    x: float
    y: float | None
    words: str


class Series(NamedTuple):
    """The points of one combination of the other axes."""

    name: str
    marks: tuple[Mark, ...]


class Tick(NamedTuple):
    """A value on a scale, and its place from 0 to 1."""

    place: float
    label: str


class Chart(NamedTuple):
    """A chart without a size."""

    across: str
    upwards: str
    series: tuple[Series, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]


def chart(answer: SweepAnswer) -> Chart:
    """The chart of a sweep."""
    first, *others = answer.axes
    xs = _scale(first.values)
    heights = [point.max_concurrency for point in answer.points if point.max_concurrency]
    low, high = (min(heights), max(heights)) if heights else (1.0, 1.0)
    ticks = linear(high) if high / low < LOG_FROM else logarithmic(low, high)
    bottom, top = ticks[0], ticks[-1]
    found: dict[str, list[Mark]] = {}
    for point in answer.points:
        name = ", ".join(f"{axis.name} {point.values[axis.name]}" for axis in others)
        y = None if not point.max_concurrency else _place(point.max_concurrency, bottom, top)
        found.setdefault(name, []).append(Mark(xs[point.values[first.name]], y, words(point)))
    return Chart(
        across=first.name,
        upwards="concurrent requests" + (" (logarithmic)" if bottom > 0 else ""),
        series=tuple(Series(name, tuple(marks)) for name, marks in found.items()),
        x_ticks=tuple(Tick(place, _short(value)) for value, place in xs.items()),
        y_ticks=tuple(Tick(_place(tick, bottom, top), f"{tick:,.10g}") for tick in ticks),
    )


def words(point: Point) -> str:
    """A point in words."""
    at = ", ".join(f"{name} {value}" for name, value in point.values.items())
    if point.max_concurrency is None:
        return f"{at}: {point.refusal or 'no limit'}"
    return (
        f"{at}: {point.max_concurrency:.2f} concurrent requests, {counted(point.num_blocks or 0, 'block', ',')}, "
        f"{counted(point.num_tokens or 0, 'token', ',')}"
    )


def _scale(values: Sequence[Any]) -> dict[Any, float]:
    """Value → its place: to scale where all are numbers, else one beside the other."""
    known = [value for value in values if isinstance(value, int) and value > 0]
    if len(known) < len(values) or len(set(known)) < 2:
        return {value: i / max(len(values) - 1, 1) for i, value in enumerate(values)}
    low, high = min(known), max(known)
    bottom = low if high / low >= LOG_FROM else 0.0
    span = (_place(low, bottom, high), 1.0)
    return {
        value: (_place(number, bottom, high) - span[0]) / (span[1] - span[0])
        for value, number in zip(values, known, strict=True)
    }


def _place(value: float, bottom: float, high: float) -> float:
    """Logarithmic above a bottom, linear from 0."""
    if bottom <= 0:
        return value / high if high else 0.0
    return log(value / bottom) / log(high / bottom) if high > bottom else 1.0


def _short(value: Any) -> str:
    """A number as people write it.

    >>> _short(131072), _short(8000), _short("fp8")
    ('128K', '8k', 'fp8')
    """
    if not isinstance(value, int):
        return str(value)
    for unit, size in (("m", 10**6), ("M", 1 << 20), ("k", 1000), ("K", 1 << 10)):
        if value >= size and value % size == 0:
            return f"{value // size}{unit}"
    return f"{value:,}"
