"""The placement that 0.30 keeps for latent layers with an index beside state-space layers.

Follows `_glm5_next_tensor_layout` (0.30), without the raw tails of such an index.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.document.document import Tensor
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.placement import Room
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs


def place_with_index(groups: Sequence[KVCacheGroup], room: Room) -> tuple[Tensor, ...]:
    """One tensor a layer: latents and states share regions, the index has its own; () where the groups are others."""
    latent = [group for group in groups if _is_latent(group)]
    states = [group for group in groups if group.spec.kind == "mamba"]
    uniform = [group for group in groups if isinstance(group.spec, UniformTypeSpecs)]
    if not latent or not states or len(uniform) + len(states) != len(groups):
        return ()
    dense, index = _by_compression(latent[-1])
    pages = {room.page(latent[-1].spec_of(layer)) for layer in dense}
    index_pages = {room.page(latent[-1].spec_of(layer)) for layer in index}
    state_pages = {room.page(group.first_spec) for group in states}
    if len(pages) != 1 or len(index_pages) != 1 or state_pages != pages:
        return ()
    (page,), (index_page,) = pages, index_pages
    return _placed(room, (page, index_page), (dense, index), states)


def _is_latent(group: KVCacheGroup) -> bool:
    """Whether a group has latent layers only, none of them padded."""
    if not isinstance(group.spec, UniformTypeSpecs):
        return False
    specs = [spec for _, spec in group.spec.specs]
    return all(spec.kind == "mla_attention" and spec.page_size_padded is None for spec in specs)


def _by_compression(group: KVCacheGroup) -> tuple[list[str], list[str]]:
    """(layers that store every token, layers that store one state for several)."""
    ratios = {n: s.compress_ratio for n in group.layer_names if isinstance(s := group.spec_of(n), AttentionSpec)}
    return [n for n, ratio in ratios.items() if ratio == 1], [n for n, ratio in ratios.items() if ratio > 1]


def _placed(
    room: Room, pages: tuple[int, int], layers: tuple[list[str], list[str]], states: Sequence[KVCacheGroup]
) -> tuple[Tensor, ...]:
    blocks, found = room.num_blocks, list[tuple[str, int, int]]()
    (page, index_page), (dense, index) = pages, layers
    for i, layer in enumerate(dense):
        beside = [group.layer_names[i] for group in states if i < len(group.layer_names)]
        found += [(name, page, i * page * blocks) for name in (layer, *beside)]
    base = len(dense) * page * blocks
    found += [(layer, index_page, base + i * index_page * blocks) for i, layer in enumerate(index)]
    size = (len(dense) * page + len(index) * index_page) * blocks
    return tuple(
        Tensor(i, size, (layer,), offset, bytes_, bytes_ * blocks) for i, (layer, bytes_, offset) in enumerate(found)
    )
