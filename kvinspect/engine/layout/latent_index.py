"""The placement that 0.30 keeps for latent layers with an index beside state-space layers.

Follows `_glm5_next_tensor_layout` (0.30).
"""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.document.document import Tensor
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.placement import Room, place_by_page, room_of
from kvinspect.engine.placement import Space
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec


@vllm("_glm5_next_tensor_layout", since="0.30", until="0.30")
def place_with_index(groups: Sequence[KVCacheGroup], space: Space) -> tuple[Tensor, ...]:
    """By page, with the pages of a latent index in regions of their own where there is one (0.30). Raises Refused."""
    return _with_index(groups, room_of(space)) or place_by_page(groups, space)


def _with_index(groups: Sequence[KVCacheGroup], room: Room) -> tuple[Tensor, ...]:
    """One tensor a layer: latents and states share regions, as do the index and its tails.

    () where the groups are others.
    """
    states = [group for group in groups if group.spec.holds_states]
    uniform = [group for group in groups if group.spec.each_its_own]
    latent = [group for group in uniform if all(spec.plain_latents for spec in group.spec.each)]
    if not latent or not states or len(uniform) + len(states) != len(groups):
        return ()
    if any(spec.page_size_padded is not None for spec in latent[-1].spec.each):
        return ()
    dense, index = _by_compression(latent[-1])
    pages = {room.page(latent[-1].spec_of(layer)) for layer in dense}
    index_pages = {room.page(latent[-1].spec_of(layer)) for layer in index}
    state_pages = {room.page(group.first_spec) for group in states}
    if len(pages) != 1 or len(index_pages) != 1 or state_pages != pages:
        return ()
    tails = [group for group in uniform if all(spec.pool_tail for spec in group.spec.each)][-1:]
    (page,), (index_page,) = pages, index_pages
    if not all(_fits(group, len(index), index_page, room) for group in tails):
        return ()
    regions = (_regions(latent[-1], dense, states), _regions(latent[-1], index, tails))
    return _placed(room, (page, index_page), regions)


def _by_compression(group: KVCacheGroup) -> tuple[list[str], list[str]]:
    """(layers that store every token, layers that store one state for several)."""
    ratios = {name: group.spec_of(name).compress_ratio for name in group.layer_names}
    return [n for n, ratio in ratios.items() if ratio == 1], [n for n, ratio in ratios.items() if ratio > 1]


def _fits(tails: KVCacheGroup, count: int, index_page: int, room: Room) -> bool:
    """Whether there is a tail for each layer of the index, and it fits on its page."""
    sizes = {spec.unpadded_bytes(room.unpadded) for spec in tails.spec.each}
    return len(sizes) == 1 and len(tails.layer_names) == count and sizes.pop() <= index_page


Layer = tuple[str, LayerSpec]
Regions = list[list[Layer]]
"""The layers on each run of pages."""


def _regions(home: KVCacheGroup, layers: Sequence[str], beside: Sequence[KVCacheGroup]) -> Regions:
    """The layers of each region: one of the group that it is made for, and the one in its place of each other group."""
    rows = [
        [(home, layer), *((g, g.layer_names[i]) for g in beside if i < len(g.layer_names))]
        for i, layer in enumerate(layers)
    ]
    return [[(layer, group.spec_of(layer)) for group, layer in row] for row in rows]


def _placed(
    room: Room, pages: tuple[int, int], regions: tuple[list[list[Layer]], list[list[Layer]]]
) -> tuple[Tensor, ...]:
    """A tensor for each layer, region after region."""
    found, offset = list[Tensor](), 0
    size = sum(page * len(some) for page, some in zip(pages, regions, strict=True)) * room.num_blocks
    for page, some in zip(pages, regions, strict=True):
        for layers in some:
            for layer, spec in layers:
                own = room.page(spec)
                found.append(Tensor(len(found), size, (layer,), offset, own, own * room.num_blocks))
            offset += page * room.num_blocks
    return tuple(found)
