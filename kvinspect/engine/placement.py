"""On which bytes each layer lies where none is given: the placement, which planner and engine have in common.

Follows `get_kv_cache_config_from_groups` with allocations of their own (0.25 to 0.28); that of one buffer is in
`layout/placement.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kvinspect.document.document import Tensor
from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.layouts import Layout
from kvinspect.provenance import vllm
from kvinspect.specs.needs import UnpaddedPage

Slots = tuple[int, list[tuple[int, list[str]]]]
"""(bytes of a block of the whole allocation, [(byte in the block, layers that begin there)])."""
PackedRule = Callable[[Sequence[KVCacheGroup], UnpaddedPage], Slots]


class Space(NamedTuple):
    """What a placement depends on, the same for engine and planner."""

    num_blocks: int
    unpadded: UnpaddedPage
    """Bytes of an attention layer's page without padding."""
    packed: PackedRule
    """How the layers of all groups lie in one allocation where the planner packs them (0.25 to 0.28)."""
    layout: Layout | None = None
    """The layout in force; None where a release's planner knows none (0.25 to 0.28)."""
    across_layers: bool = False
    """Whether a KV connector asks for blocks across layers."""


@vllm("get_kv_cache_config_from_groups", until="0.28")
def place_per_tensor(groups: Sequence[KVCacheGroup], space: Space) -> tuple[Tensor, ...]:
    """Allocations of their own for the layers, or packed ones (0.25 to 0.28).

    All layers are packed into one allocation with `uniform_type` groups only, or where a KV connector asks for blocks
    across layers. Raises Refused where pages differ in size.
    """
    if not groups:
        return ()
    num_blocks, unpadded = space.num_blocks, space.unpadded
    uniform = [group.spec.each_its_own for group in groups]
    if uniform == [True]:
        return _one_each(groups[0], num_blocks, unpadded)
    if all(uniform) or (space.across_layers and len(groups) > 1):
        return _in_one(space.packed(groups, unpadded), num_blocks)
    return _pools(groups, num_blocks, unpadded)


@vllm("_pool_bytes_per_block", until="0.28")
def bytes_per_tensor(groups: Sequence[KVCacheGroup], space: Space) -> int:
    """Bytes of one block through all layers of a worker (`_pool_bytes_per_block`, 0.25 to 0.28). Raises Refused."""
    typed = [group.spec.each_its_own for group in groups]
    if typed == [True]:
        return groups[0].spec.page(space.unpadded)
    if all(typed) or (space.across_layers and len(groups) > 1):
        return space.packed(groups, space.unpadded)[0]
    pages = {group.spec.page(space.unpadded) for group in groups}
    if len(pages) > 1:
        found = ", ".join(map(str, sorted(pages)))
        raise Refused("AssertionError", f"the groups' pages differ: {found} bytes", function="get_uniform_page_size")
    return pages.pop() * max(len(group.layer_names) for group in groups)


def resized(tensors: Sequence[Tensor], num_blocks: int, wanted: int) -> tuple[Tensor, ...] | None:
    """Allocations of `num_blocks` blocks made for `wanted` blocks; None where a size is no whole number of blocks."""
    if any(tensor.size % num_blocks for tensor in tensors):
        return None
    return tuple(tensor._replace(size=tensor.size // num_blocks * wanted) for tensor in tensors)


def _one_each(group: KVCacheGroup, num_blocks: int, unpadded: UnpaddedPage) -> tuple[Tensor, ...]:
    group.spec.page(unpadded)
    sizes = [(layer, group.spec_of(layer).page(unpadded)) for layer in group.layer_names]
    return tuple(Tensor(i, page * num_blocks, (layer,)) for i, (layer, page) in enumerate(sizes))


def _pools(groups: Sequence[KVCacheGroup], num_blocks: int, unpadded: UnpaddedPage) -> tuple[Tensor, ...]:
    """One allocation for each layer of the largest group; the i-th layer of every group shares the i-th."""
    pages = {group.id: group.spec.page(unpadded) for group in groups}
    if len(set(pages.values())) > 1:
        sizes = ", ".join(f"group {i}: {page}" for i, page in pages.items())
        raise Refused(
            "AssertionError",
            f"the groups' pages differ in bytes ({sizes})",
            function="get_uniform_page_size",
            kind="pages-differ",
        )
    page = pages[groups[0].id]
    count = max(len(group.layer_names) for group in groups)
    if count == 0:
        raise Refused("AssertionError", "no group has a layer", function="get_kv_cache_config_from_groups")
    if page == 0:
        raise Refused("ZeroDivisionError", "a page has no bytes", function="get_num_blocks")
    shared = [tuple(g.layer_names[i] for g in groups if i < len(g.layer_names)) for i in range(count)]
    return tuple(Tensor(i, page * num_blocks, layers) for i, layers in enumerate(shared))


def _in_one(slots: Slots, num_blocks: int) -> tuple[Tensor, ...]:
    stride, layers_at = slots
    if stride == 0:
        raise Refused("AssertionError", "no group has a layer", function="_get_packed_kv_cache_layout")
    return tuple(
        Tensor(i, stride * num_blocks, tuple(layers), offset, stride) for i, (offset, layers) in enumerate(layers_at)
    )


@vllm("_bucket_layers_by_page_size", "_get_kv_cache_config_packed", until="0.26")
def packed_by_page_size(groups: Sequence[KVCacheGroup], unpadded: UnpaddedPage) -> Slots:
    """Layers of like pages of all groups share a slot, the slots of one page size behind each other (0.25, 0.26)."""
    buckets: dict[int, list[list[str]]] = defaultdict(list)
    for group in groups:
        taken: dict[int, int] = defaultdict(int)
        for layer in group.layer_names:
            page = group.spec_of(layer).page(unpadded)
            if taken[page] == len(buckets[page]):
                buckets[page].append([])
            buckets[page][taken[page]].append(layer)
            taken[page] += 1
    slots, offset = [], 0
    for page, shared in buckets.items():
        for layers in shared:
            slots.append((offset, layers))
            offset += page
    return offset, slots


@vllm("_get_packed_kv_cache_layout", "_get_kv_cache_config_packed", since="0.27", until="0.28")
def packed_densely(groups: Sequence[KVCacheGroup], unpadded: UnpaddedPage) -> Slots:
    """Each group's layers lie one behind the other from the start of the block, groups over groups (0.27, 0.28)."""
    layers_at: dict[int, list[str]] = defaultdict(list)
    stride = 0
    for group in groups:
        offset = 0
        for layer in group.layer_names:
            layers_at[offset].append(layer)
            offset += group.spec_of(layer).page(unpadded)
        stride = max(stride, offset)
    return stride, sorted(layers_at.items())
