"""The stages from specs to judgement, each a value that is made from the ones before it.

`Specs → Groups → Layout → Tensors → Attention → KernelBlocks → Views → Soundness`. None of them changes, all can be
compared, hashed and pickled; which function makes one is what a release says (`release.py`), and `chain.py` asks them
in the engine's order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.document.document import Tensor
from kvinspect.document.frozen import Frozen
from kvinspect.document.refusal import Refusal
from kvinspect.engine.align_answer import TensorAnswer
from kvinspect.engine.groups import AttentionGroup, KVCacheGroup, LayerBackend
from kvinspect.engine.layout.layouts import Layout
from kvinspect.engine.reshape import LayerView, Place
from kvinspect.specs.kinds import GroupSpec

Specs = tuple[GroupSpec, ...]
"""The spec of each group of the document, as the release's classes make it."""
Tensors = tuple[Tensor, ...]
"""The allocations with the layers on them; on one buffer: its regions."""
KernelBlocks = tuple[int, ...]
"""Tokens of a kernel block of each group; encoder-only groups are left out of the list."""


class Groups(NamedTuple):
    """Layers by block table, their specs with what backends pack into them, and each layer's backend."""

    groups: tuple[KVCacheGroup, ...]
    backends: Mapping[str, LayerBackend] = Frozen()
    """Of every layer, those that share a cache behind the others."""
    value_sizes: Mapping[str, int] = Frozen()
    """Backend name → the V head size that its class holds."""

    @property
    def in_use(self) -> dict[str, Backend]:
        """Name → backend, in the order in which the layers come."""
        order: dict[str, Backend] = {}
        for layer in self.backends.values():
            order.setdefault(layer.backend.name, layer.backend)
        return order


class Attention(NamedTuple):
    """The groups as the runner has them, each split by backend, spec and query heads."""

    groups: tuple[KVCacheGroup, ...]
    members: tuple[tuple[AttentionGroup, ...], ...]

    @property
    def flat(self) -> list[AttentionGroup]:
        """All attention groups in the engine's order."""
        return [group for members in self.members for group in members]


class Built(NamedTuple):
    """Everything before the views, which is all that CUDA graphs need."""

    grouped: Groups
    layout: Layout
    tensors: Tensors
    attention: Attention
    kernel_blocks: KernelBlocks


class Views(NamedTuple):
    """The view of every layer that gets one, before any alignment, and where it lies."""

    of: Mapping[str, LayerView] = Frozen()
    places: Mapping[str, Place] = Frozen()
    across_layers: bool = False
    """Whether all layers lie on one allocation, block by block, because a KV connector asks for it."""
    page_aligned: frozenset[str] = frozenset()
    """K/V-first layers that are built page by page."""


class Soundness(NamedTuple):
    """What the alignment made of the allocations of a cache, and whether each is sound."""

    kinds: tuple[tuple[TensorAnswer, ...], ...]
    """The allocations, those that differ in the names of their layers alone together."""
    views: Mapping[str, LayerView]
    """Each layer's view behind the alignment."""
    decisions: Mapping[str, str]
    """The decision about each layer about which one was taken."""
    refusal: Refusal | None
    """The first refusal."""

    @property
    def tensors(self) -> tuple[TensorAnswer, ...]:
        """The allocations in their order."""
        return tuple(sorted((tensor for kind in self.kinds for tensor in kind), key=lambda tensor: tensor.id))
