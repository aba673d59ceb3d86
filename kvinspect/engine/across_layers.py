"""One allocation for all layers, block by block, where a KV connector asks for it: model runner V1's uniform layout.

Follows `KVConnectorModelRunnerMixin.use_uniform_kv_cache` and `allocate_uniform_kv_caches` (0.25 to 0.28).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvinspect.document.document import Document, Tensor
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import AttentionGroup
from kvinspect.engine.reshape import Allocation, LayerView, Part, Place, Reshaper, shaped_axes
from kvinspect.geometry import Step, StridedView
from kvinspect.provenance import vllm
from kvinspect.specs.attention import AttentionSpec


def asked_for(document: Document) -> bool:
    """Whether the KV connector asks for blocks across layers (`enable_cross_layers_blocks`)."""
    extra = document.model.kv_transfer_config.kv_connector_extra_config
    return str(extra.get("enable_cross_layers_blocks", False)).lower() == "true"


@vllm("KVConnectorModelRunnerMixin.use_uniform_kv_cache", until="0.26")
def by_block_stride(spec: AttentionSpec) -> bool:
    """Any attention spec will do (0.25, 0.26)."""
    return True


@vllm("KVConnectorModelRunnerMixin.use_uniform_kv_cache", since="0.27", until="0.28")
def without_inline_scales(spec: AttentionSpec) -> bool:
    """Any but those with a scale for each token and head beside its data (0.27, 0.28)."""
    return not spec.per_token_head


def applies(
    document: Document,
    attention: Sequence[Sequence[AttentionGroup]],
    layout: str,
    takes: Callable[[AttentionSpec], bool] | None,
) -> bool:
    """Whether the one attention group of a model gets the uniform layout; `takes` is None in a runner without one."""
    if takes is None or not asked_for(document) or [len(members) for members in attention] != [1]:
        return False
    group = attention[0][0]
    indexes = group.backend.entry.get("indexes_kv_by_block_stride", {}).get(layout, False)
    return group.spec.is_attention and bool(indexes) and takes(group.spec)


@vllm("KVConnectorModelRunnerMixin.allocate_uniform_kv_caches", until="0.28")
def views(
    shaper: Reshaper, group: AttentionGroup, tensors: Sequence[Tensor]
) -> tuple[dict[str, Place], dict[str, LayerView]]:
    """(where each layer lies, its view) on one allocation as large as all tensors. Raises Refused or ViewError."""
    spec = group.spec
    assert spec.is_attention
    num_blocks = _num_blocks(shaper, spec, tensors)
    allocation = Allocation(tensors[0].id, tensors[0].size * len(tensors))
    ratio = spec.block_size // shaper.kernel_block_sizes[0]
    steps = _steps(shaper, group, spec, len(tensors), num_blocks * ratio)
    whole = StridedView.of_bytes(allocation.size).apply(steps)
    dim, axes = shaper.block_dim_or_none(group), shaped_axes(group.backend, spec, shaper.cache_dtype)
    placed: dict[str, Place] = {}
    made: dict[str, LayerView] = {}
    for i, tensor in enumerate(tensors):
        own: Step = ("select", (0, i))
        part = Part(spec.dtype, (*steps, own), whole.apply((own,)), axes)
        view = LayerView((part,), dim, shaper.kernel_block_size(group), max(ratio, 1))
        placed.update((layer, Place(tensor, allocation)) for layer in tensor.shared_by)
        made.update((layer, view) for layer in tensor.shared_by)
    return placed, made


def _num_blocks(shaper: Reshaper, spec: AttentionSpec, tensors: Sequence[Tensor]) -> int:
    sizes, page = {tensor.size for tensor in tensors}, spec.page(shaper.rules.unpadded_page)
    if len(sizes) != 1:
        raise Refused("AssertionError", "blocks across layers need tensors of one size")
    if len(shaper.kernel_block_sizes) != 1:
        raise Refused("AssertionError", "blocks across layers need one kernel block size", path=("kernel_block_sizes",))
    if page == 0:
        raise Refused("ZeroDivisionError", "a page has no bytes")
    size = sizes.pop()
    if size % page:
        raise Refused(
            "AssertionError",
            f"a tensor's {counted(size, 'byte')} are no whole number of pages of {counted(page, 'byte')}",
        )
    return size // page


def _steps(
    shaper: Reshaper, group: AttentionGroup, spec: AttentionSpec, num_layers: int, num_blocks: int
) -> tuple[Step, ...]:
    """The allocation as `[layers, …]`, in the order in memory that the backend gives with the layers' dim."""
    more = {"cache_dtype": shaper.cache_dtype, "head_size_v": shaper.value_sizes.get(group.backend.name)}
    own = group.backend.shape(num_blocks, shaper.kernel_block_sizes[0], spec.num_kv_heads, spec.head_size, **more)
    shape = (num_layers, *own)
    order = group.backend.order_with_layers(shaper.layout, len(shape))
    inverse = tuple(order.index(dim) for dim in range(len(order)))
    in_memory = tuple(shape[dim] for dim in order)
    return (("view_dtype", (spec.itemsize,)), ("view", (in_memory,)), ("permute", (inverse,)))
