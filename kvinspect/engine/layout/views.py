"""Each layer's `[B, H, N, C]` view of the one backing allocation.

Follows `allocate_kv_cache` and `create_kv_cache_views` (0.29 on).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from kvinspect.document.document import Tensor
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.engine.axes import BLOCK, BYTE, CONTENT, DIM, HEAD, KV_DIM, STATE, TOKEN, Axes
from kvinspect.engine.layout.layouts import KVCacheLayout
from kvinspect.engine.layout.strides import Strides, layer_shape, layout_strides
from kvinspect.engine.reshape import Allocation, LayerView, Part, Place
from kvinspect.geometry import Step, StridedView
from kvinspect.specs.kinds import LayerSpec

ROCM_PAGE = 4096
"""Bytes to which the allocation is rounded up on ROCm, for RDMA."""


def backing(tensors: Sequence[Tensor], platform: str) -> Allocation | None:
    """The one allocation of all tensors, None where there are none. Raises Refused where they do not agree on it."""
    sizes = sorted({tensor.size for tensor in tensors})
    if len(sizes) > 1:
        text = f"the tensors lie in one allocation, and say that it has {' and '.join(map(str, sizes))} bytes"
        raise Refused("AssertionError", text, function="allocate_kv_cache")
    if not sizes:
        return None
    rounded = -(-sizes[0] // ROCM_PAGE) * ROCM_PAGE if platform == "rocm" else sizes[0]
    return Allocation(0, rounded)


def places(tensors: Sequence[Tensor], allocation: Allocation) -> dict[str, Place]:
    """Layer → its tensor and the allocation."""
    return {layer: Place(tensor, allocation) for tensor in tensors for layer in tensor.shared_by}


class Viewer(NamedTuple):
    """Makes the views of a cache."""

    layout: KVCacheLayout
    num_blocks: int
    allocation: Allocation

    def views(self, spec: LayerSpec, tensor: Tensor, chosen: int | None) -> Mapping[str, LayerView]:
        """The view of every layer of a tensor; `chosen` is the group's kernel block size, None where it has none.

        Raises Refused, and ViewError where torch can make no such view.
        """
        kernel_block_size = _viewed_size(spec, chosen)
        shape = layer_shape(spec, self.num_blocks, kernel_block_size)
        ratio = shape[0] // self.num_blocks
        fixed = (tensor.layer_stride, self._kernel_stride(spec, tensor, ratio))
        layers = tensor.shared_by
        strides = layout_strides(spec, self.num_blocks, len(layers), self.layout, kernel_block_size, fixed)
        raw = StridedView.of_bytes(self.allocation.size)
        raw.as_strided((len(layers), *shape), strides, tensor.offset)
        parts = _parts(spec, raw, (shape, strides, tensor.offset), len(layers))
        return {layer: LayerView((part,), 0, chosen, max(ratio, 1)) for layer, part in zip(layers, parts, strict=True)}

    def _kernel_stride(self, spec: LayerSpec, tensor: Tensor, ratio: int) -> int:
        """Bytes from kernel block to kernel block. Raises Refused where blocks are not dense enough to be split."""
        if ratio <= 1:
            return tensor.block_stride
        page = prod(layer_shape(spec, 1)[1:])
        if tensor.block_stride != page:
            text = (
                f"blocks lie {counted(tensor.block_stride, 'byte')} apart under {self.layout.name} and hold {page}, "
                f"so they cannot be split into {counted(ratio, 'kernel block')} each"
            )
            raise Refused("ValueError", text, function="create_kv_cache_views", kind="split-block")
        if page % ratio:
            text = f"a page of {counted(page, 'byte')} is no {counted(ratio, 'equal kernel block')}"
            raise Refused("AssertionError", text, function="create_kv_cache_views")
        return page // ratio


def _viewed_size(spec: LayerSpec, chosen: int | None) -> int | None:
    """Latent layers may be viewed in blocks of another size than their kernels', by their spec (0.30)."""
    return chosen if spec.view_block_size is None else spec.view_block_size


def _parts(spec: LayerSpec, raw: StridedView, window: tuple[tuple[int, ...], Strides, int], count: int) -> list[Part]:
    """The layers of a tensor: the first, and the same further on, all inside the tensor's view."""
    shape, strides, offset = window
    first = _part(spec, raw, window)
    distance, rest = divmod(strides[0], first.view.itemsize)
    if rest:
        return [_part(spec, raw, (shape, strides, offset + i * strides[0])) for i in range(count)]
    parts = [first]
    for i in range(1, count):
        steps: tuple[Step, ...] = (("as_strided", (shape, strides[1:], offset + i * strides[0])), *first.steps[1:])
        parts.append(first._replace(steps=steps, view=first.view.further(i * distance)))
    return parts


def _part(spec: LayerSpec, raw: StridedView, window: tuple[tuple[int, ...], Strides, int]) -> Part:
    """One layer of a tensor; attention layers see elements of their dtype, state-space layers bytes."""
    shape, strides, offset = window
    steps: tuple[Step, ...] = (("as_strided", (shape, strides[1:], offset)),)
    dtype = "int8"
    if spec.is_attention:
        dtype = spec.dtype
        steps = (*steps, ("view_dtype", (spec.itemsize,)))
    return Part(dtype, steps, raw.apply(steps), axes_of(spec))


def axes_of(spec: LayerSpec) -> Axes:
    """What `[B, H, N, C]` are for layers of a spec: C is a key and its value, or a latent, where nothing is packed."""
    if not spec.is_attention:
        return BLOCK, HEAD, STATE, BYTE
    head = spec.head_size if spec.latent else spec.head_size + spec.head_size_v
    plain = spec.state_content_bytes is None and spec.content_bytes == head * spec.itemsize
    content = CONTENT if not plain else DIM if spec.latent else KV_DIM
    return BLOCK, HEAD, TOKEN if spec.compress_ratio == 1 else STATE, content
