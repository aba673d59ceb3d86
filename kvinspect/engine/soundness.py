"""Whether block IDs address the same bytes through all views of an allocation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import NamedTuple

from kvinspect.engine.reshape import LayerView
from kvinspect.geometry.disjoint import Meeting, meeting
from kvinspect.geometry.runs import BlockBytes, block_bytes


class Conflict(NamedTuple):
    """Two layers and two block IDs whose bytes meet: the smallest counterexample of an allocation."""

    layers: tuple[str, str]
    block_ids: tuple[int, int]
    byte: int
    num_bytes: int


Pattern = tuple[BlockBytes, ...]


@lru_cache(maxsize=4096)
def pattern(view: LayerView, num_blocks: int) -> Pattern:
    """The bytes of each of the manager's blocks through a layer, one entry a view of the layer."""
    dim = view.block_dim or 0
    return tuple(block_bytes(part.view, dim, num_blocks, view.kernel_blocks) for part in view.parts)


def conflict(
    views: Mapping[str, LayerView], layers: Sequence[str], num_blocks: int, among: Iterable[str] | None = None
) -> Conflict | None:
    """The smallest counterexample among the layers of one allocation, None where different blocks never meet.

    `among`: one of the two layers has to be one of these. Layers that see the same bytes are proved together, so the
    cost hangs on how many different patterns there are.
    """
    chosen = set(layers if among is None else among)
    by_pattern: dict[Pattern, list[str]] = {}
    for layer in layers:
        by_pattern.setdefault(pattern(views[layer], num_blocks), []).append(layer)
    found: list[tuple[Meeting, tuple[str, str]]] = []
    for first, second in combinations_with_replacement(by_pattern, 2):
        pair = _pair(by_pattern[first], by_pattern[second], chosen)
        met = first_meeting(first, second) if pair else None
        if met and pair:
            found.append((met, pair))
    if not found:
        return None
    met, pair = min(found, key=lambda row: row[0].size)
    return Conflict(pair, met.blocks, met.byte, met.num_bytes)


def self_conflict(views: Mapping[str, LayerView], layers: Sequence[str], num_blocks: int) -> Conflict | None:
    """The smallest meeting of two blocks of one and the same layer, None where every view keeps its blocks apart."""
    by_pattern = {pattern(views[layer], num_blocks): layer for layer in reversed(layers)}
    found = [(met, layer) for own, layer in by_pattern.items() if (met := first_meeting(own, own)) is not None]
    if not found:
        return None
    met, layer = min(found, key=lambda row: row[0].size)
    return Conflict((layer, layer), met.blocks, met.byte, met.num_bytes)


def _pair(first: list[str], second: list[str], chosen: set[str]) -> tuple[str, str] | None:
    """Two different layers, one of each list, of which one is chosen; None where there are no such two."""
    for one in (first[0], next((layer for layer in first if layer in chosen), None)):
        for other in second:
            if one is not None and other != one and (one in chosen or other in chosen):
                return one, other
    return None


def first_meeting(first: Pattern, second: Pattern) -> Meeting | None:
    """The smallest meeting of any view of one layer with any view of another."""
    met = [m for a in first for b in second if (m := meeting(a, b)) is not None]
    return min(met, key=lambda m: m.size, default=None)
