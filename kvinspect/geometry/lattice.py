"""Whole numbers i and j within bounds with `low ≤ i·a − j·b ≤ high` and i ≠ j: whether there are any, and the least."""

from __future__ import annotations

Pair = tuple[int, int]


def smallest_pair(strides: Pair, bounds: Pair, low: int, high: int) -> Pair | None:
    """(i, j) with `0 ≤ i < bounds[0]`, `0 ≤ j < bounds[1]`, i ≠ j and `low ≤ i·strides[0] − j·strides[1] ≤ high`.

    Of all such pairs one whose larger number is least; None where there is none. Strides are not negative. The cost
    grows with the logarithm of the strides and of the answer, not with the bounds.

    >>> smallest_pair((3, 5), (10**30, 10**30), 7, 7)
    (4, 1)
    >>> smallest_pair((4, 4), (100, 100), 1, 3) is None
    True
    """
    if min(bounds) <= 0 or low > high:
        return None
    if strides[0] == strides[1]:
        return _smallest_of_one_stride(strides[0], bounds, low, high)
    largest = max(bounds) - 1
    if not _any_within(largest, strides, bounds, low, high):
        return None
    below, enough = -1, 1
    while not _any_within(enough, strides, bounds, low, high):
        below, enough = enough, 2 * enough
    while enough - below > 1:
        middle = (below + enough) // 2
        if _any_within(middle, strides, bounds, low, high):
            enough = middle
        else:
            below = middle
    return _with_larger(enough, strides, bounds, low, high)


def _smallest_of_one_stride(stride: int, bounds: Pair, low: int, high: int) -> Pair | None:
    if stride == 0:
        if not (low <= 0 <= high) or max(bounds) < 2:
            return None
        return (0, 1) if bounds[1] > 1 else (1, 0)
    least = max(-(-low // stride), 1 - bounds[1])
    most = min(high // stride, bounds[0] - 1)
    steps = [step for step in (max(least, 1), min(most, -1)) if least <= step <= most]
    if not steps:
        return None
    step = min(steps, key=lambda s: (abs(s), s))
    return (step, 0) if step > 0 else (0, -step)


def _any_within(largest: int, strides: Pair, bounds: Pair, low: int, high: int) -> bool:
    """Whether a pair of different numbers up to `largest` solves it: all solutions less those with i = j."""
    limits = (min(bounds[0], largest + 1), min(bounds[1], largest + 1))
    everything = _at_most(high, strides, limits) - _at_most(low - 1, strides, limits)
    return everything > _equal_pairs(strides[0] - strides[1], min(limits), low, high)


def _equal_pairs(stride: int, count: int, low: int, high: int) -> int:
    """How many `0 ≤ i < count` have `low ≤ i·stride ≤ high`; stride is not 0."""
    if stride < 0:
        stride, low, high = -stride, -high, -low
    return max(0, min(count - 1, high // stride) - max(0, -(-low // stride)) + 1)


def _at_most(limit: int, strides: Pair, bounds: Pair) -> int:
    """How many pairs within the bounds have `i·strides[0] − j·strides[1] ≤ limit`."""
    (a, b), (columns, rows) = strides, bounds
    if b == 0:
        return rows * max(0, min(columns, limit // a + 1))
    if a == 0:
        return columns * max(0, rows - max(0, -(limit // b)))
    # For column i the rows from ceil((i·a − limit) / b) on count: all of them up to `full`, none from `empty` on.
    full = max(0, min(columns, limit // a + 1))
    empty = max(full, min(columns, (limit + (rows - 1) * b) // a + 1))
    steps = empty - full
    ceilings = floor_sum(steps, b, a, full * a - limit + b - 1)
    return full * rows + steps * rows - ceilings


def floor_sum(count: int, divisor: int, slope: int, start: int) -> int:
    """Σ floor((slope·i + start) / divisor) over `0 ≤ i < count`, in time that grows with the logarithm.

    >>> floor_sum(4, 3, 2, 1)
    4
    """
    total = 0
    while count > 0:
        total += (slope // divisor) * count * (count - 1) // 2 + (start // divisor) * count
        slope, start = slope % divisor, start % divisor
        reach = slope * count + start
        if reach < divisor:
            break
        # The points under the line, counted along the other axis.
        count, start = reach // divisor, reach % divisor
        slope, divisor = divisor, slope
    return total


def _with_larger(largest: int, strides: Pair, bounds: Pair, low: int, high: int) -> Pair | None:
    """A solution whose larger number is `largest`."""
    a, b = strides
    found: list[Pair] = []
    if largest < bounds[0]:
        found += [(largest, j) for j in _solutions(b, largest * a - high, largest * a - low, largest, bounds[1])]
    if largest < bounds[1]:
        found += [(i, largest) for i in _solutions(a, low + largest * b, high + largest * b, largest, bounds[0])]
    return min(found, default=None)


def _solutions(stride: int, low: int, high: int, below: int, bound: int) -> list[int]:
    """The least `0 ≤ x < min(below, bound)` with `low ≤ x·stride ≤ high`, if any."""
    if stride == 0:
        return [0] if low <= 0 <= high and below > 0 else []
    least = max(0, -(-low // stride))
    return [least] if least * stride <= high and least < min(below, bound) else []
