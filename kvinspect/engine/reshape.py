"""Each layer's view of its raw allocation, as a chain of view operations and as the numbers that come out.

Follows `_allocate_kv_cache`, `_reshape_kv_cache` and `_reshape_attention_kv_cache` (0.25 to 0.28).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.document.document import Tensor
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.document.words import DTYPE_BYTES
from kvinspect.engine.axes import BLOCK, BYTE, KV, Axes, axes_of, storing_states
from kvinspect.engine.groups import AttentionGroup
from kvinspect.geometry import Step, StridedView, contiguous_strides
from kvinspect.provenance import vllm
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.mamba import MambaSpec
from kvinspect.specs.needs import UnpaddedPage

Shape = tuple[int, ...]


class Part(NamedTuple):
    """One view of a layer: an attention layer has one, a state-space layer one a state in some releases."""

    dtype: str
    steps: tuple[Step, ...]
    view: StridedView
    axes: Axes
    """What each dim of the view is."""


class LayerView(NamedTuple):
    """How a layer sees its allocation."""

    parts: tuple[Part, ...]
    block_dim: int | None
    """The dim that counts kernel blocks, None where the backend's shape does not say."""
    kernel_block_size: int | None
    """Tokens of a kernel block, None where the engine chooses none for the group (0.29 on)."""
    kernel_blocks: int
    """Kernel blocks in a block of the block manager."""

    @property
    def kv_dim(self) -> int | None:
        """The dim that tells keys from values, None where the view has none."""
        axes = self.parts[0].axes
        return axes.index(KV) if KV in axes else None


class Allocation(NamedTuple):
    """Raw bytes: `size` of them, for the layers of one tensor, or of all packed tensors together."""

    key: int
    size: int


class Place(NamedTuple):
    """Where a layer lies: its tensor, the bytes behind it, and (offset, block stride) in a packed allocation."""

    tensor: Tensor
    allocation: Allocation

    @property
    def packing(self) -> tuple[int, int] | None:
        """(byte in a block, bytes from block to block), None outside packed allocations."""
        stride = self.tensor.block_stride
        return (self.tensor.offset, stride) if stride > 0 else None


def places(tensors: Sequence[Tensor]) -> dict[str, Place]:
    """Layer → its place. All packed tensors alias one allocation, which has the size of the first of them."""
    packed: Allocation | None = None
    found: dict[str, Place] = {}
    for tensor in tensors:
        own = Allocation(tensor.id, tensor.size)
        if tensor.block_stride > 0:
            packed = packed or own
            own = packed
        found.update((layer, Place(tensor, own)) for layer in tensor.shared_by)
    return found


def shaped_axes(backend: Backend, spec: AttentionSpec, cache_dtype: str) -> Axes:
    """What the dims of a backend's shape are, for layers of a spec."""
    axes = axes_of(backend.written_shape(cache_dtype))
    return axes if spec.storage_block_size == spec.block_size else storing_states(axes)


Chain = tuple[str, tuple[Step, ...], Axes]
"""(dtype, the operations of a view, what its dims are)."""
Chains = tuple[Chain, ...]


class ReshapeRules(NamedTuple):
    """What differs between releases in this step."""

    unpadded_page: UnpaddedPage
    state_parts: Callable[[MambaSpec, int, int], Chains]
    cache_dtype_of: Callable[[AttentionSpec, str], str]
    packed_shape: Callable[[Shape, tuple[int, ...]], Shape]
    kernel_blocks: Callable[[AttentionSpec, int, int], int]
    """Kernel blocks in a block, of (spec, the view's kernel block size, the group's)."""
    has_views: Callable[[int, int], bool]
    """Whether a group gets views, by its id and the number of kernel block sizes. May raise Refused."""
    across_layers: Callable[[AttentionSpec], bool] | None = None
    """Whether a KV connector's wish for blocks across layers is fulfilled; None where this step does not know it."""
    shares_at: str = "reshape"
    """The stage at which KV-sharing layers get their targets' views."""


class Reshaper(NamedTuple):
    """Reshapes the layers of one cache."""

    rules: ReshapeRules
    layout: str
    cache_dtype: str
    kernel_block_sizes: Sequence[int]
    value_sizes: Mapping[str, int]
    """Backend name → the V head size that its class holds."""
    page_aligned: frozenset[str] = frozenset()
    """K/V-first layers that are built page by page because state-space pages lie on the same bytes (0.28)."""

    def kernel_block_size(self, group: AttentionGroup) -> int:
        """Tokens (or stored states) of a kernel block of a group."""
        spec = group.spec
        if spec.storage_block_size != spec.block_size:
            return spec.storage_block_size
        return self.kernel_block_sizes[group.kv_cache_group_id]

    def kernel_blocks(self, group: AttentionGroup, spec: AttentionSpec) -> int:
        """Kernel blocks in a block of the block manager."""
        own = self.kernel_block_sizes[group.kv_cache_group_id]
        return self.rules.kernel_blocks(spec, self.kernel_block_size(group), own)

    def view(self, group: AttentionGroup, layer: str, place: Place) -> LayerView:
        """The layer's view. Raises Refused or ViewError where the engine's own view cannot be made."""
        raw = StridedView.of_bytes(place.allocation.size)
        num_blocks = self._num_blocks(group.spec, place)
        kernel_block_size = self.kernel_block_size(group)
        if group.spec.holds_states:
            page = group.spec.page(self.rules.unpadded_page)
            chains = self.rules.state_parts(group.spec, num_blocks, page)
            parts = tuple(Part(dtype, steps, raw.apply(steps), axes) for dtype, steps, axes in chains)
            return LayerView(parts, 0, kernel_block_size, 1)
        ratio = self.kernel_blocks(group, group.spec)
        steps = self._attention_steps(group, place, num_blocks * ratio, layer in self.page_aligned)
        part = Part(group.spec.dtype, steps, raw.apply(steps), self._axes(group, group.spec, place))
        return LayerView((part,), self.block_dim_or_none(group), kernel_block_size, max(ratio, 1))

    def _axes(self, group: AttentionGroup, spec: AttentionSpec, place: Place) -> Axes:
        axes = shaped_axes(group.backend, spec, self.rules.cache_dtype_of(spec, self.cache_dtype))
        if not place.packing:
            return axes
        # A packed view that is made in another order than it is permuted from has dims that are not what they are for.
        order = group.backend.stride_order(self.layout, len(axes))
        made = self.rules.packed_shape(tuple(range(len(axes))), order)
        return tuple(name if made[order.index(dim)] == dim else None for dim, name in enumerate(axes))

    def block_dim_or_none(self, group: AttentionGroup) -> int | None:
        """Like `block_dim`, None where the backend's shape has no such dim."""
        # The engine asks only when it aligns, and it is there that it then stops.
        try:
            return self.block_dim(group)
        except Refused:
            return None

    def block_dim(self, group: AttentionGroup) -> int:
        """The dim of the group's views that counts kernel blocks, asked with the engine's cache dtype.

        Raises Refused where the backend's shape has no such dim.
        """
        spec, backend = group.spec, group.backend
        if spec.holds_states:
            return 0
        size = self.kernel_block_sizes[group.kv_cache_group_id]
        more = {"cache_dtype": self.cache_dtype, "head_size_v": self.value_sizes.get(backend.name)}
        return backend.block_dim(size, spec.num_kv_heads, spec.head_size, **more)

    def _num_blocks(self, spec: LayerSpec, place: Place) -> int:
        size = place.allocation.size
        if place.packing:
            return size // place.packing[1]
        page = spec.page(self.rules.unpadded_page)
        if page == 0:
            raise Refused("ZeroDivisionError", "a page has no bytes")
        if size % page:
            text = f"the allocation's {counted(size, 'byte')} are no whole number of pages of {counted(page, 'byte')}"
            path = ("kv_cache_config", "kv_cache_tensors", place.tensor.id, "size")
            raise Refused("AssertionError", text, path=path, kind="partial-page")
        return size // page

    def _attention_steps(
        self, group: AttentionGroup, place: Place, num_blocks: int, page_aligned: bool
    ) -> tuple[Step, ...]:
        spec, backend = group.spec, group.backend
        assert spec.is_attention
        shape = backend.shape(
            num_blocks,
            self.kernel_block_size(group),
            spec.num_kv_heads,
            spec.head_size,
            cache_dtype=self.rules.cache_dtype_of(spec, self.cache_dtype),
            head_size_v=self.value_sizes.get(backend.name),
        )
        order = backend.stride_order(self.layout, len(shape))
        inverse = tuple(order.index(dim) for dim in range(len(order)))
        in_memory = tuple(shape[dim] for dim in order)
        if place.packing is not None:
            made = self._packed(spec, shape, in_memory, inverse, place.packing)
        elif spec.page_size_padded is not None:
            made = _padded(spec, shape, in_memory, inverse, num_blocks)
        elif page_aligned:
            return _page_by_page(spec, shape, order, num_blocks)
        else:
            made = (("view_dtype", (spec.itemsize,)), ("view", (in_memory,)))
        return (*made, ("permute", (inverse,)))

    def _packed(
        self, spec: AttentionSpec, shape: Shape, in_memory: Shape, inverse: Shape, packing: tuple[int, int]
    ) -> tuple[Step, ...]:
        offset, block_stride = packing
        if inverse[0] != 0:
            raise Refused("AssertionError", "a packed allocation needs the blocks outermost in memory")
        page = prod(shape[1:]) * spec.itemsize
        return (
            ("view", ((-1, block_stride),)),
            ("slice", (1, offset, offset + page)),
            ("view_dtype", (spec.itemsize,)),
            ("view", (self.rules.packed_shape(shape, in_memory),)),
        )


def _padded(spec: AttentionSpec, shape: Shape, in_memory: Shape, inverse: Shape, num_blocks: int) -> tuple[Step, ...]:
    """A view that steps from page to page over the padding; the stride is given to each kernel block."""
    if shape[0] != num_blocks:
        text = f"padded pages need the blocks in dim 0, not {list(shape)} with {counted(num_blocks, 'block')}"
        raise Refused("AssertionError", text, kind="padded-page")
    strides = list(contiguous_strides(in_memory))
    strides[inverse[0]] = (spec.page_size_padded or 0) // spec.itemsize
    return (("view_dtype", (spec.itemsize,)), ("as_strided", (in_memory, tuple(strides))))


def _page_by_page(spec: AttentionSpec, shape: Shape, order: Shape, num_blocks: int) -> tuple[Step, ...]:
    """A K/V-first view whose block b lies in page b (0.28)."""
    if shape[1] != num_blocks or order != tuple(range(len(shape))):
        text = f"blocks page by page need the shape [2, {num_blocks}, …] in memory order, not {list(shape)} as {order}"
        raise Refused("AssertionError", text)
    paged = (num_blocks, shape[0], *shape[2:])
    return (("view_dtype", (spec.itemsize,)), ("view", (paged,)), ("transpose", (0, 1)))


@vllm("_reshape_kv_cache", until="0.26")
def views_by_state(spec: MambaSpec, num_blocks: int, page: int) -> Chains:
    """One view a state, each stepping from page to page (0.25, 0.26)."""
    out, offset = list[Chain](), 0
    for state, dtype in zip(spec.shapes, spec.dtypes, strict=False):
        size = DTYPE_BYTES[dtype]
        if offset % size:
            raise Refused("AssertionError", f"a {dtype} state begins at byte {offset} of its page")
        shape = (num_blocks, *state)
        stride = (page // size, *contiguous_strides(shape)[1:])
        axes: Axes = (BLOCK, *(None for _ in state))
        out.append((dtype, (("view_dtype", (size,)), ("as_strided", (shape, stride, offset // size))), axes))
        offset += prod(state) * size
    return tuple(out)


@vllm("_reshape_kv_cache", since="0.27", until="0.28")
def view_of_pages(spec: MambaSpec, num_blocks: int, page: int) -> Chains:
    """One view of whole pages as bytes, which the layer takes apart itself (0.27, 0.28)."""
    steps: tuple[Step, ...] = (("slice", (0, 0, num_blocks * page)), ("view", ((num_blocks, 1, 1, page),)))
    return (("int8", steps, (BLOCK, None, None, BYTE)),)


@vllm("_reshape_attention_kv_cache", since="0.27", until="0.28")
def quantised_only(spec: AttentionSpec, cache_dtype: str) -> str:
    """The cache dtype for a layer's shape: `auto` for layers that stay unquantised (0.27, 0.28)."""
    return "auto" if spec.kv_quant_mode == "NONE" else cache_dtype


@vllm("_reshape_attention_kv_cache", until="0.26")
def quantised_or_turboquant(spec: AttentionSpec, cache_dtype: str) -> str:
    """Like `quantised_only`, but a TurboQuant spec, which names no mode, counts as quantised (0.25, 0.26)."""
    return cache_dtype if spec.quantised_without_mode else quantised_only(spec, cache_dtype)


@vllm("GPUModelRunner._reshape_kv_cache_tensors", until="0.28")
def quantised_by_spec(spec: AttentionSpec, cache_dtype: str) -> str:
    """Like `quantised_only`, with the cache dtype of the spec before the engine's (V1)."""
    return "auto" if spec.kv_quant_mode == "NONE" else spec.cache_dtype_str or cache_dtype


@vllm("_reshape_attention_kv_cache", until="0.28")
def blocks_of_states(spec: AttentionSpec, of_view: int, of_group: int) -> int:
    """A block is as many kernel blocks as its stored states fill (V2). Raises Refused where it stores none."""
    if of_view == 0:
        raise Refused("ZeroDivisionError", "a block of fewer tokens than the compression takes stores no state")
    return spec.storage_block_size // of_view


@vllm("GPUModelRunner._reshape_kv_cache_tensors", until="0.28")
def blocks_of_tokens(spec: AttentionSpec, of_view: int, of_group: int) -> int:
    """A block is as many kernel blocks as its tokens fill, also where fewer states are stored (V1)."""
    return spec.block_size // of_group


@vllm("_reshape_kv_cache", until="0.28")
def sized_groups(group_id: int, num_sizes: int) -> bool:
    """Groups behind the list of kernel block sizes have no views (V2)."""
    return group_id < num_sizes


@vllm("GPUModelRunner._reshape_kv_cache_tensors", until="0.28")
def all_but_one_group(group_id: int, num_sizes: int) -> bool:
    """The group right behind the list of kernel block sizes has no views, for one further on the runner stops (V1)."""
    if group_id > num_sizes:
        text = f"group {group_id} has no kernel block size, and only the last group can be without one"
        raise Refused("IndexError", text, path=("kernel_block_sizes",))
    return group_id < num_sizes


@vllm("_reshape_attention_kv_cache", until="0.25")
def packed_as_shaped(shape: Shape, in_memory: Shape) -> Shape:
    """A packed view is made in the logical shape and permuted afterwards, wrongly (0.25)."""
    return shape


@vllm("_reshape_attention_kv_cache", since="0.26", until="0.28")
def packed_as_stored(shape: Shape, in_memory: Shape) -> Shape:
    """A packed view is made in memory order (from 0.26 on)."""
    return in_memory


@vllm("_kv_first_layers_sharing_pool_with_mamba", since="0.28", until="0.28")
def kv_first_beside_mamba(
    groups: Sequence[AttentionGroup], tensors: Sequence[Tensor], block_dims: Callable[[AttentionGroup], int]
) -> frozenset[str]:
    """The K/V-first layers on whose allocation a state-space layer lies (0.28)."""
    states = {layer for group in groups if group.spec.holds_states for layer in group.layer_names}
    attention = [group for group in groups if group.spec.is_attention]
    kv_first = {layer for group in attention if block_dims(group) != 0 for layer in group.layer_names}
    beside = [tensor for tensor in tensors if not states.isdisjoint(tensor.shared_by)]
    return frozenset(layer for tensor in beside for layer in tensor.shared_by if layer in kv_first)
