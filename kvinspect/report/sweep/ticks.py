"""The numbers on a scale: round ones, from below the least value to above the greatest."""

from __future__ import annotations

from math import ceil, floor, log10

STEPS = (1, 2, 5)
"""The digits that a tick begins with."""
MOST = 6
"""Intervals between ticks, at most."""


def linear(high: float) -> tuple[float, ...]:
    """Ticks from 0 to at least a positive `high`, all as far apart.

    >>> linear(49.6)
    (0.0, 10.0, 20.0, 30.0, 40.0, 50.0)
    """
    power = 10.0 ** floor(log10(high / MOST))
    step = next(digit * power for digit in (*STEPS, 10) if high / (digit * power) <= MOST)
    return tuple(round(i * step, 9) for i in range(ceil(high / step - 1e-9) + 1))


def logarithmic(low: float, high: float) -> tuple[float, ...]:
    """Ticks from at most a positive `low` to at least `high`: 1, 2 and 5 of each power of ten.

    Where those are too many, the powers and both ends.

    >>> logarithmic(3.6, 142)
    (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0)
    >>> logarithmic(3.6, 1150)
    (2.0, 10.0, 100.0, 1000.0, 2000.0)
    """
    powers = range(floor(log10(low)), ceil(log10(high)) + 1)
    every = [round(digit * 10.0**power, 9) for power in powers for digit in STEPS]
    first = max(tick for tick in every if tick <= low)
    last = min(tick for tick in every if tick >= high)
    found = [tick for tick in every if first <= tick <= last]
    if len(found) <= MOST + 2:
        return tuple(found)
    return tuple(tick for tick in found if tick in (first, last) or log10(tick).is_integer())
