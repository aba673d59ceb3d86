"""Layers that need the same number of token slots: `UniformTypeKVCacheSpecs`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kvinspect.engine.specs import FULL, LayerSpec, MambaSpec, UniformTypeSpecs

Specs = Mapping[str, LayerSpec]
"""Layer name → its spec, in the engine's order."""


def uniform_type(specs: Specs) -> UniformTypeSpecs | None:
    """Layers as one group of their own specs, None where they need different numbers of slots (`from_specs`)."""
    block_sizes = {spec.block_size for spec in specs.values()}
    if len(block_sizes) > 1 or not _alike(specs.values()):
        return None
    return UniformTypeSpecs(block_sizes.pop(), tuple(specs.items()))


def _alike(specs: Iterable[LayerSpec]) -> bool:
    """`is_uniform_with_collection` of the first spec's class."""
    distinct = list(dict.fromkeys(specs))
    first = distinct[0]
    if isinstance(first, MambaSpec):
        blocks = first.num_speculative_blocks
        return all(isinstance(s, MambaSpec) and s.num_speculative_blocks == blocks for s in distinct)
    attention = [spec for spec in distinct if not isinstance(spec, MambaSpec)]
    if len(attention) != len(distinct):
        return False
    if any(spec.kind not in _family(first.kind) for spec in attention):
        return False
    if first.kind == "chunked_local_attention":
        return len({spec.attention_chunk_size for spec in attention}) == 1
    if first.kind.startswith("sliding_window"):
        return len({spec.sliding_window for spec in attention}) == 1
    return True


def _family(kind: str) -> tuple[str, ...]:
    """The kinds whose classes derive from the one that layers of a kind are compared by."""
    if kind in FULL:
        return FULL
    return ("sliding_window", "sliding_window_mla") if kind == "sliding_window" else (kind,)
