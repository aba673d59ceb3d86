"""The shape of a layer's cache and the byte strides of the logical axes under a layout.

Follows `compute_layer_kv_cache_shape_bytes` and `compute_layout_strides` (0.29 on).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.engine.layout.layouts import B, KVCacheLayout, L
from kvinspect.specs.kinds import LayerSpec

Strides = tuple[int, int, int, int, int]
"""Bytes from one to the next along `[L, B, H, N, C]`."""


def layer_shape(spec: LayerSpec, num_blocks: int, kernel_block_size: int | None = None) -> tuple[int, int, int, int]:
    """`(B, H, N, C)` of one layer, C in bytes; B counts kernel blocks. Raises Refused where they do not divide."""
    size = spec.block_size if kernel_block_size is None else kernel_block_size
    if spec.block_size % size:
        text = f"kernel blocks of {counted(size, 'token')} do not divide blocks of {spec.block_size}"
        raise Refused("AssertionError", text, function="compute_layer_kv_cache_shape_bytes")
    states = spec.states_of(size)
    return num_blocks * (spec.block_size // size), spec.num_heads, states, spec.content_bytes


def layout_strides(
    spec: LayerSpec,
    num_blocks: int,
    num_layers: int,
    layout: KVCacheLayout,
    kernel_block_size: int | None = None,
    fixed: Sequence[int | None] = (None, None),
) -> Strides:
    """The strides of `num_layers` layers alike; `fixed` are those of L and B where they are settled already.

    The innermost axis is dense, and each one outside it steps over what is inside, or over whole padded pages where it
    is the first outside a page. Raises Refused where padding and layout do not go together.
    """
    if any(stride is not None and stride <= 0 for stride in fixed):
        text = f"the strides of layers and blocks are bytes above 0, not {list(fixed)}"
        raise Refused("AssertionError", text, function="compute_layout_strides")
    shape = (num_layers, *layer_shape(spec, num_blocks, kernel_block_size))
    padded = spec.page_size_padded
    first_inside = _page_begins(spec, shape, num_blocks, layout, kernel_block_size) if padded is not None else 0
    strides, step = [0] * 5, 1
    for place in reversed(range(5)):
        axis = layout.value[place]
        if padded is not None and place == first_inside - 1:
            step = _whole_pages(max(step, padded), padded)
        strides[axis] = (fixed[axis] if axis in (L, B) else None) or step
        step = strides[axis] * shape[axis]
    return strides[0], strides[1], strides[2], strides[3], strides[4]


def _page_begins(
    spec: LayerSpec, shape: Sequence[int], num_blocks: int, layout: KVCacheLayout, kernel_block_size: int | None
) -> int:
    """The place in memory order at which a page begins. Raises Refused where padding has no room there."""
    if kernel_block_size not in (None, spec.block_size):
        text = "padded pages cannot be split into kernel blocks"
        raise Refused("AssertionError", text, function="compute_layout_strides", kind="padded-page")
    begin = max(layout.value.index(L), layout.value.index(B)) + 1
    if prod(shape[axis] for axis in layout.value[:begin]) != shape[L] * num_blocks:
        text = f"padded pages must be contiguous in memory, and {layout.name} splits them"
        raise Refused("AssertionError", text, function="compute_layout_strides", kind="padded-page")
    return begin


def _whole_pages(step: int, padded: int) -> int:
    if step % padded:
        text = f"a step of {counted(step, 'byte')} is no whole number of padded pages of {padded}"
        raise Refused("AssertionError", text, function="compute_layout_strides", kind="padded-page")
    return step
