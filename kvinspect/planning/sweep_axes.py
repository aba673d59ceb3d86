"""The values that a sweep gives to engine arguments, as the command line writes them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, NamedTuple

from kvinspect.document.frozen import Frozen
from kvinspect.document.limits import MAX_SWEEP_POINTS
from kvinspect.document.numbers import human_number
from kvinspect.document.problem import shown

_DECIMAL = re.compile(r"[0-9]{1,18}\.[0-9]{1,18}")
_RANGE = "a range LOW..HIGH, which doubles, or LOW..HIGH..STEP, such as 8k..1M or 0.5..0.9..0.1"


class Axis(NamedTuple):
    """An engine argument and the values that it takes, as the command line would."""

    name: str
    values: tuple[Any, ...]


def axis(text: str) -> Axis:
    """`name=a,b,c`, `name=8k..1M` (doubling, both ends in) or `name=4096..16384..4096` (in steps). Raises ValueError.

    >>> axis("max-model-len=8k..32k").values
    (8000, 16000, 32000)
    >>> axis("gpu_memory_utilization=0.5..0.9..0.1").values
    (0.5, 0.6, 0.7, 0.8, 0.9)
    """
    name, equals, values = text.partition("=")
    if not equals or not name.strip() or not values.strip():
        raise ValueError(f"expected NAME=VALUES such as max_model_len=8k..1M, found {shown(text)}")
    found = [value for part in values.split(",", MAX_SWEEP_POINTS + 1) for value in _values(part.strip())]
    _limited(len(found))
    return Axis(name.strip().replace("-", "_"), tuple(dict.fromkeys(found)))


def points(axes: Sequence[Axis]) -> list[Mapping[str, Any]]:
    """Every combination of the axes' values, the last axis the fastest. Raises ValueError where they are too many."""
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise ValueError(f"{twice} is swept twice")
    _limited(prod(len(axis.values) for axis in axes))
    return [Frozen(zip(names, values, strict=True)) for values in product(*(axis.values for axis in axes))]


def _limited(count: int) -> None:
    """Raises ValueError for more points than a sweep may have."""
    if count > MAX_SWEEP_POINTS:
        raise ValueError(f"a sweep has at most {MAX_SWEEP_POINTS:,} points, and this one has more; take larger steps")


def _values(part: str) -> Sequence[Any]:
    if not part:
        raise ValueError("a value of the list is empty; expected VALUES such as 8k..1M or a,b,c")
    return _range(part) if ".." in part else (_number_or_word(part),)


def _range(part: str) -> list[int | float]:
    """The numbers of `LOW..HIGH` or `LOW..HIGH..STEP`, worked out exactly: ten steps of 0.1 are 1."""
    try:
        low, high, *steps = map(_number, part.split(".."))
    except ValueError:
        raise ValueError(f"expected {_RANGE}, found {shown(part)}") from None
    if len(steps) > 1 or low > high or 0 in steps or (low == 0 and not steps):
        raise ValueError(
            f"expected {_RANGE}: LOW not above HIGH, STEP above 0, LOW above 0 to double; found {shown(part)}"
        )
    numbers = _stepped(low, high, steps[0]) if steps else _doubled(low, high)
    whole = all(number.denominator == 1 for number in (low, high, *steps))
    return [int(number) if whole else float(number) for number in numbers]


def _stepped(low: Fraction, high: Fraction, step: Fraction) -> list[Fraction]:
    count = (high - low) // step + 1
    _limited(count)
    return [low + i * step for i in range(count)]


def _doubled(low: Fraction, high: Fraction) -> list[Fraction]:
    """Powers of two times the lower end, and the upper end even where it is none of them."""
    doubled = [low * 2**i for i in range((high // low).bit_length())]
    return doubled if doubled[-1] == high else [*doubled, high]


def _number(word: str) -> Fraction:
    word = word.strip()
    return Fraction(word) if _DECIMAL.fullmatch(word) else Fraction(human_number(word))


def _number_or_word(part: str) -> int | str:
    try:
        return human_number(part)
    except ValueError:
        return part
