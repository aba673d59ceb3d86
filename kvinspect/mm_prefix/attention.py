"""Which tokens see which: causal within the window, and both ways inside a range.

The rule is that of the release's kernels (`triton_attention_helpers.py`, `flex_attention.py`): (causal and within the
window) or both tokens in one range. A model may cut ranges at the window as well (Gemma 4); a range that is no longer
than the window, and others are skipped, is not touched by that.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from kvinspect.mm_prefix.ranges import Range


class Sight(Enum):
    """What a query token sees of key tokens, the weakest first."""

    NOTHING = 0
    CUT = 1
    """In the past, and out of the window."""
    CAUSAL = 2
    BOTH_WAYS = 3
    """In the future, of the same range."""


def sight(query: Range, key: Range, window: int | None, ranges: Sequence[Range]) -> Sight:
    """The strongest sight that a query token of one span has of a key token of another; both ends are in a span."""
    if any(_forward(query, key, found) for found in ranges):
        return Sight.BOTH_WAYS
    farthest, nearest = query[1] - key[0], query[0] - key[1]
    if farthest < 0:
        return Sight.NOTHING
    return Sight.CAUSAL if window is None or nearest < window else Sight.CUT


def _forward(query: Range, key: Range, found: Range) -> bool:
    """Whether both spans touch a range so that a key lies behind a query."""
    first_query, last_query = max(query[0], found[0]), min(query[1], found[1])
    first_key, last_key = max(key[0], found[0]), min(key[1], found[1])
    return first_query <= last_query and first_key <= last_key and last_key > first_query
