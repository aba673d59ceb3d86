"""A validated document: what `model.py` holds, with its layer names written out and everything findable by layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvinspect.document.model import DocumentModel, SpecEntry
from kvinspect.document.names import Expander
from kvinspect.document.problem import DocumentError, Path, Problem
from kvinspect.document.source import Source

GROUPS: Path = ("kv_cache_config", "kv_cache_groups")
TENSORS: Path = ("kv_cache_config", "kv_cache_tensors")


class Group(NamedTuple):
    """A KV cache group: layers that share one block table."""

    id: int
    layer_names: tuple[str, ...]
    spec: SpecEntry
    layer_specs: Mapping[str, SpecEntry]
    """Of a `uniform_type` group the spec of each layer."""
    kinds: frozenset[str] = frozenset()
    """The kinds of its spec and of its layers' own."""

    def __hash__(self) -> int:
        return hash((self.id, self.layer_names, self.spec))

    @property
    def path(self) -> Path:
        """Where the group stands in the document."""
        return (*GROUPS, self.id)

    def spec_of(self, layer: str) -> SpecEntry:
        """The spec of one layer of the group."""
        return self.layer_specs.get(layer, self.spec)


class Tensor(NamedTuple):
    """An allocation of `size` bytes and the layers on it."""

    id: int
    size: int
    shared_by: tuple[str, ...]
    offset: int = 0
    block_stride: int = 0
    layer_stride: int | None = None
    """Bytes from layer to layer; None where each allocation is by itself (up to 0.28)."""


class LayerUse(NamedTuple):
    """Which backend runs a layer, with how many query heads, and the entry that says so."""

    backend: str
    path: Path
    num_heads_q: int | None = None


class Document(NamedTuple):
    """An inspection document that holds together; see `model.py` for its keys and `check.py` for what is checked."""

    source: Source
    model: DocumentModel
    groups: tuple[Group, ...] = ()
    tensors: tuple[Tensor, ...] | None = None
    shared: Mapping[str, str] = {}
    """KV-sharing layer → the layer whose cache it uses."""
    uses: Mapping[str, LayerUse] = {}
    """Layer → its backend, where the document names one."""

    def __hash__(self) -> int:
        return hash((self.source, self.model))

    @property
    def num_blocks(self) -> int:
        """Blocks of the block manager, 0 where the document has no KV cache configuration."""
        config = self.model.kv_cache_config
        return config.num_blocks if config else 0

    def where(self, path: Path) -> str:
        """`file:line:column: path` of an entry."""
        return self.source.place(Problem(path)).where

    def error(self, problem: Problem) -> DocumentError:
        """The problem as an error with its place in this document."""
        return DocumentError([self.source.place(problem)])

    def require(self, key: str, purpose: str) -> None:
        """Raises DocumentError where the document lacks a key that is needed for a purpose."""
        if getattr(self.model, key) is None:
            raise self.error(Problem((key,), message=f"is missing; {purpose} needs it", kind="missing"))


def build(source: Source, model: DocumentModel) -> Document:
    """Write the layer names out; the document has been checked before."""
    names = Expander()
    config = model.kv_cache_config
    groups = tuple(
        _group(i, names.all(g.layer_names), g.kv_cache_spec, _layer_specs(g.kv_cache_spec, names))
        for i, g in enumerate(config.kv_cache_groups if config else [])
    )
    tensors = None
    if config and config.kv_cache_tensors is not None:
        tensors = tuple(
            Tensor(i, t.size, names.all(t.shared_by or t.layers or []), t.offset, t.block_stride, t.layer_stride)
            for i, t in enumerate(config.kv_cache_tensors)
        )
    shared = {alias: target for key, target in model.shared_kv_cache_layers.items() for alias in names.all([key])}
    return Document(source, model, groups, tensors, shared, _uses(model, groups, names))


def _group(i: int, layers: tuple[str, ...], spec: SpecEntry, own: Mapping[str, SpecEntry]) -> Group:
    return Group(i, layers, spec, own, frozenset(one.spec_kind for one in (spec, *own.values())))


def _layer_specs(spec: SpecEntry, names: Expander) -> dict[str, SpecEntry]:
    return {layer: inner for key, inner in (spec.kv_cache_specs or {}).items() for layer in names.all([key])}


def _uses(model: DocumentModel, groups: tuple[Group, ...], names: Expander) -> dict[str, LayerUse]:
    """The group's backend for all its layers, and what the attention groups say in its place."""
    uses: dict[str, LayerUse] = {}
    config = model.kv_cache_config
    for group, entry in zip(groups, config.kv_cache_groups if config else [], strict=True):
        if entry.backend is not None:
            use = LayerUse(entry.backend, (*group.path, "backend"))
            uses.update((layer, use) for layer in group.layer_names)
    for i, attention in enumerate(model.attention_groups or []):
        use = LayerUse(attention.backend, ("attention_groups", i, "backend"), attention.num_heads_q)
        uses.update((layer, use) for layer in names.all(attention.layer_names))
    return uses
