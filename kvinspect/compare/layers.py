"""A layer on both sides: whether a block that one has written means the same to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kvinspect.compare.changes import Changes, Facts, changed
from kvinspect.compare.contents import COORDINATES, STATE_COORDINATES, UNSPLIT, BlockContent, Untold
from kvinspect.compare.layer import Layer
from kvinspect.document.numbers import counted
from kvinspect.geometry.content import Content, Moved, first_moved, gathered
from kvinspect.geometry.runs import BlockBytes

SAME, MOVED, DIFFERENT, UNKNOWN = "same", "moved", "different", "unknown"
"""The bytes of a block are the same and lie at the same places; the same elsewhere; others; it cannot be judged."""


class Place(NamedTuple):
    """What lies at a byte."""

    region: str
    coordinates: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, region: str, place: tuple[int, ...]) -> Place:
        """The place with its coordinates named."""
        names = COORDINATES if len(place) == len(COORDINATES) else STATE_COORDINATES
        return cls(region, tuple(zip(names, place, strict=True)))

    def __str__(self) -> str:
        told = [f"{name} {value}" for name, value in self.coordinates if name != "element" or value]
        return f"{self.region} of {', '.join(told)}" if told else self.region

    def to_dict(self) -> dict[str, Any]:
        """The place as JSON."""
        return {"region": self.region, **dict(self.coordinates)}


class FirstByte(NamedTuple):
    """The lowest byte of a block's copied bytes that means something else on the other side.

    What is at `byte` in A is at `other_byte` in B, and `instead` is what B has at `byte`.
    """

    byte: int
    holds: Place
    other_byte: int
    instead: Place | None

    def to_dict(self) -> dict[str, Any]:
        """The byte as JSON."""
        instead = self.instead.to_dict() if self.instead else None
        return {"byte": self.byte, "holds": self.holds.to_dict(), "other_byte": self.other_byte, "instead": instead}


class Lies(NamedTuple):
    """How the blocks of a layer lie: where block 0 begins, bytes to the next, contiguous runs of one, their bytes."""

    offset: int
    block_stride: int
    runs: int
    size: int

    @classmethod
    def of(cls, covered: BlockBytes) -> Lies:
        """How blocks lie that cover these bytes."""
        runs = 1
        for count, _ in covered.dims:
            runs *= count
        return cls(covered.offset, covered.block_stride, runs, runs * covered.run)


class Outcome(NamedTuple):
    """What is to be said of a layer; `why` are sentences without a full stop."""

    verdict: str
    why: tuple[str, ...] = ()
    first_byte: FirstByte | None = None
    lies: tuple[Lies, Lies] | None = None

    def begun_at(self, a: int, b: int) -> Outcome:
        """The same, said of blocks that begin at these bytes of A's and B's allocation in place of 0."""
        if self.lies is None or not (a or b):
            return self
        lies = (self.lies[0]._replace(offset=a), self.lies[1]._replace(offset=b))
        if a == b or self.verdict not in (SAME, MOVED):
            return self._replace(lies=lies)
        moved = f"block 0 begins at byte {a} of A's allocation and at byte {b} of B's"
        return Outcome(MOVED, (moved, *self.why), self.first_byte, lies)


class Pair(NamedTuple):
    """Layers of both sides that differ from others in their places alone, which are compared once."""

    from_byte_0: Outcome
    """What is to be said of blocks that begin at byte 0."""
    facts: tuple[Facts, Facts]
    """What is compared of the first of them."""
    changes: Changes
    """What changed of the first of them."""

    @classmethod
    def of(cls, a: Layer, b: Layer) -> Pair:
        """The pair of two layers, whatever they are called."""
        facts = (a.facts(), b.facts())
        return cls(_from_byte_0(a, b), facts, changed(*facts))

    def outcome(self, a: Layer, b: Layer) -> Outcome:
        """Whether blocks that A has written can be read by B."""
        return self.from_byte_0.begun_at(a.begin, b.begin)

    def changed(self, a: Layer, b: Layer) -> Changes:
        """What changed from A to B."""
        here, there = a.place(), b.place()
        if here == there and not self.changes:
            return self.changes
        return changed({**self.facts[0], **here}, {**self.facts[1], **there})


class Pairs(dict[object, Pair]):
    """Pairs of layers by what distinguishes them, places left out."""

    def of(self, a: Layer, b: Layer) -> Pair:
        """The pair of two layers."""
        key = (a.kind, b.kind)
        if key not in self:
            self[key] = Pair.of(a, b)
        return self[key]


def _from_byte_0(a: Layer, b: Layer) -> Outcome:
    unlike = tuple(text for check in CHECKS if (text := check(a, b)))
    if unlike:
        return Outcome(DIFFERENT, unlike)
    try:
        here, there = a.content(), b.content()
    except Untold as untold:
        if a.is_made_as(b) and not _doubt(a, b):
            return Outcome(SAME, ("both sides make and read the blocks in the same way",))
        return Outcome(UNKNOWN, (str(untold),))
    if here is None or there is None:
        return Outcome(SAME, ("neither has a view of its own",))
    if (UNSPLIT in here.regions) is not (UNSPLIT in there.regions):
        blind = a if UNSPLIT in here.regions else b
        return Outcome(UNKNOWN, (f"the shape of {blind.answer.backend} does not tell K from V",))
    return _judged(here, there, _doubt(a, b))


def _judged(a: BlockContent, b: BlockContent, doubt: str) -> Outcome:
    lies = (Lies.of(a.bytes._replace(offset=0)), Lies.of(b.bytes._replace(offset=0)))
    sizes = _sizes(a.regions, b.regions)
    if sizes:
        return Outcome(DIFFERENT, (sizes,), lies=lies)
    if a.order != b.order:
        return Outcome(UNKNOWN, (f"{a.order or b.order}, which its shape does not show",), lies=lies)
    copied, other = gathered(a.regions, a.bytes), gathered(b.regions, b.bytes)
    moved = first_moved(copied, other)
    if moved is not None and a.order:
        return Outcome(UNKNOWN, (f"{a.order}, which its shape does not show",), lies=lies)
    if moved is not None:
        first = _first_byte(moved, other)
        return Outcome(DIFFERENT, (_told(first),), first, lies)
    if doubt:
        return Outcome(UNKNOWN, (doubt,), lies=lies)
    why = tuple(_elsewhere(a, b, lies))
    return Outcome(MOVED if why else SAME, why, lies=lies)


def _first_byte(moved: Moved, other: Content) -> FirstByte:
    there = ((name, region.at(moved.byte)) for name, region in other.items())
    instead = next((Place.of(name, place) for name, place in there if place is not None), None)
    return FirstByte(moved.byte, Place.of(moved.region, moved.place), moved.other_byte, instead)


def _told(first: FirstByte) -> str:
    there = f"; B has {first.instead} there" if first.instead else ""
    return f"byte {first.byte} of a block is {first.holds} in A, which B has at byte {first.other_byte}{there}"


def _elsewhere(a: BlockContent, b: BlockContent, lies: tuple[Lies, Lies]) -> Iterator[str]:
    """What a copy block by block has to mind, although it carries the same bytes."""
    here, there = lies
    if here.block_stride != there.block_stride:
        yield f"blocks are {counted(here.block_stride, 'byte')} apart in A and {there.block_stride} in B"
    if here.runs != there.runs:
        yield f"a block lies in {_pieces(here)} in A and in {_pieces(there)} in B"
    elif first_moved(a.regions, b.regions):
        yield f"the {here.runs} runs of a block are further apart on one side"


def _pieces(lies: Lies) -> str:
    return "one run" if lies.runs == 1 else f"{lies.runs} runs"


def _sizes(a: Content, b: Content) -> str:
    """How the regions of two blocks differ in what they are or in how much they hold."""
    if list(a) != list(b):
        return f"a block holds {_listed(a)} in A and {_listed(b)} in B"
    for name, region in a.items():
        for what, count, other in zip(_coordinates(region.counts), region.counts, b[name].counts, strict=True):
            if count != other:
                return f"{name} has {count} {what}s in a block of A and {other} in one of B"
    return ""


def _coordinates(counts: tuple[int, ...]) -> tuple[str, ...]:
    return COORDINATES if len(counts) == len(COORDINATES) else STATE_COORDINATES


def _listed(names: Content) -> str:
    return ", ".join(names)


def _kinds(a: Layer, b: Layer) -> str:
    if a.spec.holds_states is b.spec.holds_states and a.is_latent is b.is_latent:
        return ""
    return f"A caches as {a.answer.spec_kind} and B as {b.answer.spec_kind}"


def _views(a: Layer, b: Layer) -> str:
    if (a.viewed is None) is (b.viewed is None):
        return ""
    return f"only {'B' if a.viewed is None else 'A'} has a view of the layer"


def other_target(a: Layer, b: Layer) -> str:
    """How two layers of one name differ in whose cache they use, empty where they do not."""
    if a.target == b.target:
        return ""
    names = [layer.target if layer.target != layer.name else "its own cache" for layer in (a, b)]
    return f"the layer uses {names[0]} in A and {names[1]} in B"


def _formats(a: Layer, b: Layer) -> str:
    return "" if a.format == b.format else f"an element is {a.format} in A and {b.format} in B"


def _tokens(a: Layer, b: Layer) -> str:
    here, there = a.spec.block_size, b.spec.block_size
    return "" if here == there else f"a block is {counted(here, 'token')} in A and {there} in B"


def _heads(a: Layer, b: Layer) -> str:
    here, there = a.spec.rank_heads, b.spec.rank_heads
    if here is None or there is None or here == there:
        return ""
    return f"a rank holds {counted(here, 'KV head')} in A and {there} in B, so blocks must be re-sharded by KV head"


def _sharding(a: Layer, b: Layer) -> str:
    if a.spec.holds_states:
        return ""
    here, there = a.parallel.decode_context_parallel_size, b.parallel.decode_context_parallel_size
    if here == there:
        return ""
    return f"tokens are dealt out over {counted(here, 'rank')} in A and {there} in B (decode context parallelism)"


def _modes(a: Layer, b: Layer) -> str:
    here, there = a.spec.mamba_cache_mode, b.spec.mamba_cache_mode
    return "" if here == there or not (here and there) else f"states are cached in mode {here} in A and {there} in B"


CHECKS: tuple[Callable[[Layer, Layer], str], ...] = (
    _kinds, _views, _formats, _tokens, _heads, _sharding, _modes,
)  # fmt: skip
"""What has to be alike before bytes can be compared; each says how the two differ, or nothing."""


def _doubt(a: Layer, b: Layer) -> str:
    """Whether ranks may hold other heads although they hold the same number.

    One head a rank is what is left where there are fewer heads than ranks, which then hold the same one.
    """
    sizes = [layer.parallel.tensor_parallel_size for layer in (a, b)]
    if a.is_latent or a.spec.holds_states or sizes[0] == sizes[1] or min(sizes) == 1:
        return ""
    return (
        f"of {counted(sizes[0], 'rank')} in A and {sizes[1]} in B, each holding as many heads, "
        "it is not told which hold which"
    )
