"""Layers that need the same number of token slots: `UniformTypeKVCacheSpecs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kvinspect.engine.specs import FULL, AttentionSpec, LayerSpec, MambaSpec, UniformTypeSpecs

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease

Specs = Mapping[str, LayerSpec]
"""Layer name → its spec, in the engine's order."""


def uniform_type(specs: Specs, release: PlannerRelease) -> UniformTypeSpecs | None:
    """Layers as one group of their own specs, None where they need different numbers of slots (`from_specs`)."""
    distinct = list(dict.fromkeys(specs.values()))
    if not all(same_slots(distinct[0], spec, release) for spec in distinct):
        return None
    return UniformTypeSpecs(distinct[0].block_size, tuple(specs.items()))


def same_slots(first: LayerSpec, other: LayerSpec, release: PlannerRelease) -> bool:
    """Whether a layer needs as many slots as a group's first (`is_uniform_with_collection` of the first's class)."""
    if first.block_size != other.block_size:
        return False
    if isinstance(first, MambaSpec) or isinstance(other, MambaSpec):
        states = isinstance(first, MambaSpec) and isinstance(other, MambaSpec)
        return states and release.state_slots(first, release) == release.state_slots(other, release)
    if other.kind not in _family(first.kind) or first.dcp_sharded != other.dcp_sharded:
        return False
    return bool(_extent(first.kind, first) == _extent(first.kind, other))


def _family(kind: str) -> tuple[str, ...]:
    """The kinds whose classes derive from the one that layers of a kind are compared by."""
    if kind in FULL:
        return FULL
    return ("sliding_window", "sliding_window_mla") if kind == "sliding_window" else (kind,)


def _extent(kind: str, spec: AttentionSpec) -> Any:
    """What layers have to agree in where the first is of a kind: how many tokens they keep."""
    if kind == "chunked_local_attention":
        return spec.attention_chunk_size
    if kind == "sliding_window_mla":
        return spec.sliding_window, dict(spec.marks).get("bounded_replay", False)
    return spec.sliding_window if kind == "sliding_window" else None


def by_speculation(spec: LayerSpec, release: PlannerRelease) -> Any:
    """Up to 0.28 states are alike that keep as many speculative blocks, whatever their pages."""
    assert isinstance(spec, MambaSpec)
    return spec.num_speculative_blocks


def by_page_and_marks(spec: LayerSpec, release: PlannerRelease) -> Any:
    """From 0.29 on their pages, checkpoints and whether ranks share them have to be the same as well."""
    assert isinstance(spec, MambaSpec)
    return spec.num_speculative_blocks, release.page(spec), spec.marks
