"""Encoder-only layers as model runner V1 has them: outside the KV cache, in one group behind all others.

Follows `GPUModelRunner.may_add_encoder_only_layers_to_kv_cache_config` (0.25 to 0.28).
"""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.specs.attention import AttentionSpec

KIND = "encoder_only_attention"
FUNCTION = "may_add_encoder_only_layers_to_kv_cache_config"


def without(groups: Sequence[KVCacheGroup]) -> tuple[KVCacheGroup, ...]:
    """The groups that reach the planner, numbered anew."""
    return _numbered([group for group in groups if group.spec.managed])


def last(groups: Sequence[KVCacheGroup]) -> tuple[KVCacheGroup, ...]:
    """The groups with all encoder-only layers together as the last. Raises Refused where their heads differ."""
    found = [group for group in groups if not group.spec.managed and group.layer_names]
    if not found:
        return without(groups)
    layers = tuple(layer for group in found for layer in group.layer_names)
    sharing = tuple(layer for group in found for layer in group.sharing)
    merged = found[0]._replace(layer_names=layers, sharing=sharing, spec=_spec(found))
    return _numbered([*without(groups), merged])


def _numbered(groups: Sequence[KVCacheGroup]) -> tuple[KVCacheGroup, ...]:
    return tuple(group._replace(id=i) for i, group in enumerate(groups))


def _spec(found: Sequence[KVCacheGroup]) -> AttentionSpec:
    """The runner knows one block size and one dtype for all of them, and takes the heads from the layers."""
    specs = [group.spec for group in found if group.spec.is_attention]
    heads = {(spec.num_kv_heads, spec.head_size) for spec in specs}
    if len(heads) > 1:
        text = "the encoder-only layers differ in their heads, but the runner supports one spec for all of them"
        raise Refused("AssertionError", text, function=FUNCTION, path=found[1].path)
    first = specs[0]
    made: AttentionSpec = type(first)(
        KIND, first.block_size, first.num_kv_heads, first.head_size, first.head_size, first.dtype
    )
    return made
