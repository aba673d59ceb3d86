"""Whether the layers that overlay each other on one allocation keep different blocks apart.

There are as many pairs of layers as there are, but few of them differ in more than where they begin: what is proved is
a pair of families, each of layers alike that are evenly spaced, and only where their extents overlap. A family proved
against itself covers its layers one by one as well: a view whose own blocks share bytes is as unsound as two that do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import NamedTuple

from kvinspect.document.limits import MAX_PROOFS
from kvinspect.document.numbers import counted
from kvinspect.engine.conflict import Conflict, Pattern, Size
from kvinspect.geometry.disjoint import meeting, share, smallest_blocks
from kvinspect.geometry.families import Family, families, hull, side_by_side
from kvinspect.geometry.runs import BlockBytes, Intricate


class Layer(NamedTuple):
    """A view of a layer on the allocation: which tensor places it, and the bytes of its blocks."""

    name: str
    tensor: int
    bytes: BlockBytes


def views_of(patterns: Mapping[str, Pattern], tensor_of: Mapping[str, int]) -> list[Layer]:
    """The views of the layers that have any bytes."""
    return [Layer(name, tensor_of[name], part) for name, parts in patterns.items() for part in parts if part.num_blocks]


def conflicts(overlaid: Sequence[Layer]) -> dict[int, Conflict]:
    """Tensor → the smallest counterexample in which one of its layers has a part. Raises Intricate."""
    return _Overlay(overlaid).conflicts()


def touching(overlaid: Sequence[Layer]) -> set[int]:
    """The tensors whose layers share a byte with a layer of another. Raises Intricate."""
    return _Overlay(overlaid).touching()


class _Met(NamedTuple):
    """Two families of which a block of one meets another block of the other, the smallest such blocks."""

    families: tuple[Family, Family]
    blocks: tuple[int, int]


class _Overlay:
    """The views on one allocation, alike ones as families."""

    def __init__(self, overlaid: Sequence[Layer]) -> None:
        self.at: dict[BlockBytes, dict[int, list[Layer]]] = {}
        """Bytes of a layer as if it began at byte 0 → where such layers begin → which do."""
        for layer in overlaid:
            alike = self.at.setdefault(layer.bytes._replace(offset=0), {})
            alike.setdefault(layer.bytes.offset, []).append(layer)
        self.order = {alike: number for number, alike in enumerate(self.at)}
        self.proofs = 0

    @cached_property
    def families(self) -> list[Family]:
        """The families of all layers, whatever tensor they are on."""
        return [family for alike, begins in self.at.items() for family in families(alike, begins)]

    @cached_property
    def by_tensor(self) -> dict[tuple[Family, ...], list[int]]:
        """The families of a tensor's own layers → the tensors that have just these."""
        begins: dict[int, dict[BlockBytes, dict[int, None]]] = {}
        for alike, places in self.at.items():
            for begin, layers in places.items():
                for layer in layers:
                    begins.setdefault(layer.tensor, {}).setdefault(alike, {})[begin] = None
        found: dict[tuple[Family, ...], list[int]] = {}
        for tensor, mine in begins.items():
            key = tuple(family for alike, places in mine.items() for family in families(alike, places))
            found.setdefault(key, []).append(tensor)
        return found

    def conflicts(self) -> dict[int, Conflict]:
        """Tensor → its smallest counterexample. Raises Intricate."""
        suspects: dict[Family, None] = {}
        for first, second in self._near(self.families):
            if self._met(first, second):
                suspects.update({first: None, second: None})
        found: dict[int, Conflict] = {}
        for own, tensors in self.by_tensor.items() if suspects else ():
            met = self._smallest(own, list(suspects))
            if met is not None:
                found.update((tensor, self._conflict(met, tensor)) for tensor in tensors)
        return found

    def _near(self, members: Sequence[Family]) -> Iterator[tuple[Family, Family]]:
        """The pairs that could meet: their extents overlap, and so do blocks of the hulls of all equally spaced."""
        strides: dict[int, list[Family]] = {}
        for family in members:
            strides.setdefault(family.bytes.block_stride, []).append(family)
        spaced = list(strides.values())
        hulls = [hull([family.together for family in alike]) for alike in spaced]
        for a, b in side_by_side(hulls):
            self._count()
            if smallest_blocks(hulls[a], hulls[b]) is None:
                continue
            both = spaced[a] if a == b else spaced[a] + spaced[b]
            for i, j in side_by_side([family.together for family in both]):
                if a == b or (i < len(spaced[a])) != (j < len(spaced[a])):
                    yield both[i], both[j]

    def _smallest(self, own: Iterable[Family], suspects: Sequence[Family]) -> _Met | None:
        """The smallest meeting of a layer of a tensor's own families with any."""
        found: list[tuple[Size, _Met]] = []
        for one, other in product(own, suspects):
            if one.begin < other.together.end and other.begin < one.together.end:
                met = self._met(one, other)
                if met is not None:
                    found.append(((max(met.blocks), sum(met.blocks), 0), met))
        return min(found, key=lambda row: row[0], default=(None, None))[1]

    def _met(self, first: Family, second: Family) -> _Met | None:
        """The smallest meeting of two families, of their parts where it is too intricate for the whole."""
        if self._rank(second) < self._rank(first):
            first, second = second, first
        self._count()
        try:
            blocks = smallest_blocks(first.together, second.together)
        except Intricate:
            if first.num_layers == second.num_layers == 1:
                raise
            parts = [family.halves() if family.num_layers > 1 else (family,) for family in (first, second)]
            met = [found for pair in product(*parts) if (found := self._met(*pair)) is not None]
            return min(met, key=lambda one: (max(one.blocks), sum(one.blocks)), default=None)
        return _Met((first, second), blocks) if blocks else None

    def _rank(self, family: Family) -> tuple[int, int]:
        return self.order[family.bytes], family.begin

    def _count(self) -> None:
        self.proofs += 1
        if self.proofs > MAX_PROOFS:
            kinds = f"layers lie on one allocation in {counted(len(self.families), 'way')}"
            raise Intricate(f"{kinds}, and more than {MAX_PROOFS} pairs of them would have to be proved")

    def _conflict(self, met: _Met, tensor: int) -> Conflict:
        """A meeting of families as one of two of their layers, of which the tensor has one."""
        one, other = self._layers(met, tensor)
        found = meeting(one.bytes, other.bytes)
        assert found is not None
        return Conflict((one.name, other.name), found.blocks, found.byte, found.num_bytes)

    def _layers(self, met: _Met, tensor: int) -> tuple[Layer, Layer]:
        """The first layers of two families whose blocks meet, the tensor's own where it has one there."""
        one, other = met.families
        blocks = met.blocks
        while one.num_layers > 1:
            first, rest = one.halves()
            one = first if share(first.together, other.together, blocks) else rest
        while other.num_layers > 1:
            first, rest = other.halves()
            other = first if share(one.together, first.together, blocks) else rest
        here, there = self.at[one.bytes][one.begin], self.at[other.bytes][other.begin]
        own, its = (next((x for x in layers if x.tensor == tensor), layers[0]) for layers in (here, there))
        return own, its

    def touching(self) -> set[int]:
        """The tensors whose layers share a byte with a layer of another. Raises Intricate."""
        places = [{layer.tensor for layer in layers} for begins in self.at.values() for layers in begins.values()]
        touched = {tensor for tensors in places if len(tensors) > 1 for tensor in tensors}
        if touched.issuperset(set().union(*places)) or not self._any_touch():
            return touched
        members = [(family, tensors) for own, tensors in self.by_tensor.items() for family in own]
        everything = [family.everything for family, _ in members]
        for a, b in side_by_side(everything):
            both = {*members[a][1], *members[b][1]}
            if members[a][1] is not members[b][1] and not both <= touched and self._share(everything[a], everything[b]):
                touched |= both
        return touched

    def _any_touch(self) -> bool:
        """Whether any two layers that begin apart, or are not alike, share a byte."""
        several = [family for family in self.families if family.num_layers > 1 and not family.is_nested]
        if any(smallest_blocks(family.by_layer, family.by_layer) for family in several):
            return True
        everything = [family.everything for family in self.families]
        return any(a != b and self._share(everything[a], everything[b]) for a, b in side_by_side(everything))

    def _share(self, first: BlockBytes, second: BlockBytes) -> bool:
        self._count()
        return share(first, second, (0, 0))
