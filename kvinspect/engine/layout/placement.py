"""Where the layers of every group lie in the one backing allocation (`get_kv_cache_config_from_groups`, 0.29 on).

All groups begin at byte 0 and overlay each other. With blocks outermost every block holds the pages of a group's layers
side by side; otherwise each run of layers alike has a region of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd, lcm
from typing import NamedTuple

from kvinspect.document.document import Tensor
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.layouts import KVCacheLayout
from kvinspect.engine.layout.strides import layout_strides
from kvinspect.engine.placement import Space
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.needs import UnpaddedPage
from kvinspect.specs.page_size import aligned_by_slots

FUNCTION = "get_kv_cache_config_from_groups"


class Room(NamedTuple):
    """What a placement goes by."""

    num_blocks: int
    layout: KVCacheLayout
    unpadded: UnpaddedPage
    aligned: bool
    """Whether the strides of blocks keep the alignment that backends ask for (0.33)."""

    def page(self, spec: LayerSpec) -> int:
        """Bytes of a page."""
        return spec.page(self.unpadded)

    def alignment(self, spec: LayerSpec) -> int:
        """What the bytes from block to block are a multiple of (`get_block_stride_alignment`)."""
        asked = spec.block_stride_alignment if self.aligned else None
        if not isinstance(asked, str):
            return asked or 1
        kernel = gcd(int(asked.removesuffix("n")), spec.block_size)
        return 1 if kernel == spec.block_size else self.page(aligned_by_slots(spec._replace(block_size=kernel)))

    def stride(self, spec: LayerSpec) -> int:
        """Bytes from block to block of one layer in a region of its own."""
        return _rounded_up(self.page(spec), self.alignment(spec))


@vllm("get_kv_cache_config_from_groups", since="0.29", until="0.29")
def place_by_page(groups: Sequence[KVCacheGroup], space: Space) -> tuple[Tensor, ...]:
    """Runs of layers alike, counted in pages (0.29). Raises Refused."""
    return place(groups, room_of(space))


@vllm("get_kv_cache_config_from_groups", since="0.33")
def place_by_stride(groups: Sequence[KVCacheGroup], space: Space) -> tuple[Tensor, ...]:
    """Like `place_by_page`, with the alignment that backends ask for (0.33). Raises Refused."""
    return place(groups, room_of(space, aligned=True))


@vllm("_get_kv_cache_bytes_per_block", since="0.29", until="0.30")
def bytes_by_page(groups: Sequence[KVCacheGroup], space: Space) -> int:
    """Bytes of a block of the largest group, in pages (0.29, 0.30). Raises Refused."""
    return bytes_per_block(groups, room_of(space))


@vllm("_get_kv_cache_bytes_per_block", since="0.33")
def bytes_by_stride(groups: Sequence[KVCacheGroup], space: Space) -> int:
    """Like `bytes_by_page`, aligned; a layout that cannot express the pages is refused here (0.33). Raises Refused."""
    room = room_of(space, aligned=True)._replace(num_blocks=1)
    place(groups, room)
    return bytes_per_block(groups, room)


def room_of(space: Space, aligned: bool = False) -> Room:
    """The room of a cache whose layout is settled."""
    assert space.layout is not None
    return Room(space.num_blocks, space.layout.standard, space.unpadded, aligned)


def place(groups: Sequence[KVCacheGroup], room: Room) -> tuple[Tensor, ...]:
    """The tensors of all groups, each the layers of one group that are alike.

    Raises Refused where the layout cannot express the pages.
    """
    if not groups:
        return ()
    _check_layout(groups, room)
    block = bytes_per_block(groups, room)
    placed = [row for group in groups for row in _group(group, room, block)]
    return tuple(row._replace(id=i, size=block * room.num_blocks) for i, row in enumerate(placed))


def bytes_per_block(groups: Sequence[KVCacheGroup], room: Room) -> int:
    """Bytes of one block of the largest group. Raises Refused where no group has a layer."""
    inside = room.layout.block_outermost or not room.aligned
    measure = room.page if inside else room.stride
    size = max(sum(measure(spec) * count for spec, count in group.counts.items()) for group in groups)
    if size == 0:
        kind = "AssertionError" if inside else "ZeroDivisionError"
        raise Refused(kind, "no group has a layer", function="_get_kv_cache_bytes_per_block")
    # Up to 0.30 whatever the layout; from 0.33 on a layer whose region is its own is on its own.
    hot = [group.spec.page(room.unpadded) for group in groups if group.spec.aligns_blocks and inside]
    if not (room.aligned and inside):
        return _rounded_up(size, lcm(*hot))
    specs = {spec for group in groups for spec in group.counts}
    return _rounded_up(size, lcm(*hot, *(room.alignment(spec) for spec in specs)))


def _check_layout(groups: Sequence[KVCacheGroup], room: Room) -> None:
    pages = sorted({room.page(spec) for group in groups for spec in group.counts})
    layout = room.layout
    if len(pages) <= 1 or (layout.whole_pages and not (len(groups) > 1 and layout.layer_outermost)):
        return
    text = f"{layout.name} cannot express pages of {', '.join(map(str, pages))} bytes; BLHNC can"
    path = ("kv_cache_config", "kv_cache_groups")
    raise Refused("ValueError", text, function="validate_kv_cache_layout", path=path, kind="pages-differ")


def _group(group: KVCacheGroup, room: Room, block: int) -> Iterator[Tensor]:
    """The tensors of one group, their number and size left open."""
    offset = 0
    for spec, layers in group.layers_by_spec.items():
        page, count = room.page(spec), len(layers)
        fixed = (None, block if room.layout.block_outermost else _padded_stride(spec, room))
        layer_stride, block_stride, *_ = layout_strides(spec, room.num_blocks, count, room.layout, fixed=fixed)
        # Up to 0.30 the offset in pages is scaled by the layer stride; the two agree but where layers are interleaved
        # head by head.
        if page == 0 and not room.aligned:
            raise Refused("ZeroDivisionError", "a page has no bytes", function="get_kv_cache_config_from_groups")
        start = offset if room.aligned else offset * max(layer_stride, page) // page
        yield Tensor(0, 0, layers, start, block_stride, layer_stride)
        by_page = room.layout.block_outermost or not room.aligned
        offset += count * (page if by_page else layer_stride)


def _padded_stride(spec: LayerSpec, room: Room) -> int | None:
    stride = room.stride(spec)
    if stride == room.page(spec):
        return None
    if not room.layout.whole_pages:
        page = counted(room.page(spec), "byte")
        text = f"{room.layout.name} cannot pad pages of {page} to the {stride} that its backend needs"
        raise Refused("AssertionError", text, function=FUNCTION, kind="padded-page")
    return stride


def _rounded_up(size: int, multiple: int) -> int:
    return -(-size // multiple) * multiple
