"""The stages of one backing allocation, which the groups overlay (0.29 on)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvinspect.backends.backend import Backend
from kvinspect.document.document import TENSORS, Tensor
from kvinspect.document.frozen import Frozen
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused, Unknown
from kvinspect.engine import kernel_blocks
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.layouts import Layout
from kvinspect.engine.layout.resolve import check_alike, resolve
from kvinspect.engine.layout.views import Viewer, backing, places
from kvinspect.engine.layout.whole_rows import check_rows
from kvinspect.engine.per_tensor import check_sharing
from kvinspect.engine.reason import Reason
from kvinspect.engine.release import EngineRelease, Given
from kvinspect.engine.reshape import LayerView
from kvinspect.engine.stages import Attention, Built, Groups, KernelBlocks, Tensors, Views
from kvinspect.engine.start_up_steps import stage
from kvinspect.engine.wording import steps
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec


@vllm("resolve_kv_cache_layout", since="0.29", until="0.30")
def layout(
    backends: Sequence[Backend], specs: Iterable[LayerSpec], asked: str | None, release: EngineRelease
) -> Layout:
    """Return what the backends read and the pages need, or what is asked for (0.29, 0.30). Raises Refused."""
    return resolve(_declared(backends), specs, asked, release.unpadded, by_sharding=False)


@vllm("resolve_kv_cache_layout", since="0.33")
def layout_with_sharding(
    backends: Sequence[Backend], specs: Iterable[LayerSpec], asked: str | None, release: EngineRelease
) -> Layout:
    """Like `layout`, and decode context parallelism has a say (0.33). Raises Refused."""
    return resolve(_declared(backends), specs, asked, release.unpadded, by_sharding=True)


def _declared(backends: Iterable[Backend]) -> dict[str, Sequence[str] | None]:
    """Backend → the layouts that it reads, None for any; those of states are not asked."""
    return {backend.name: backend.layouts for backend in backends if not backend.is_ssm}


@vllm("resolve_kv_cache_layout", since="0.29")
def check_workers(workers: Sequence[Sequence[Backend]]) -> None:
    """Nothing where the backends of all workers read the same layouts. Raises Refused."""
    if len(workers) > 1:
        check_alike([_declared(backends) for backends in workers])


@vllm("get_kv_cache_config_from_groups", since="0.29")
def tensors(given: Given, grouped: Groups, layout: Layout) -> Tensors:
    """Return the document's tensors for as many blocks as are asked for, else the planner's. Raises Refused."""
    written, blocks = given.document.tensors or (), given.document.num_blocks
    for tensor in written:
        if tensor.layer_stride is None:
            text = f"KVCacheTensor of vLLM {given.release.version} requires layer_stride, as layers share an allocation"
            raise Refused("TypeError", text, function="KVCacheTensor", path=(*TENSORS, tensor.id))
    if not written:
        return given.release.place(grouped.groups, given.release.space(given.num_blocks, layout))
    if given.num_blocks == blocks:
        return written
    return tuple(_resized(tensor, blocks, given.num_blocks, layout.standard.layer_outermost) for tensor in written)


def _resized(tensor: Tensor, blocks: int, wanted: int, by_region: bool) -> Tensor:
    """A tensor for another number of blocks: regions of layers grow with it, the inside of a block does not."""
    lengths = (tensor.size, tensor.layer_stride or 0, tensor.offset) if by_region else (tensor.size, 0, 0)
    if any(length % blocks for length in lengths):
        raise Unknown((*TENSORS, tensor.id), "a size", "sizes of whole blocks to change their number")
    size, layer_stride, offset = (length // blocks * wanted for length in lengths)
    if not by_region:
        return tensor._replace(size=size)
    return tensor._replace(size=size, layer_stride=layer_stride, offset=offset)


@vllm("prepare_kernel_block_sizes", "select_common_block_size", since="0.33")
def kernel_block_sizes_of_dense(attention: Attention, tensors: Tensors) -> KernelBlocks:
    """Return sizes from the backends; blocks with other layers' pages between them stay whole (0.33)."""
    apart = {
        layer for tensor in tensors if tensor.block_stride > (tensor.layer_stride or 0) for layer in tensor.shared_by
    }

    def whole(group: KVCacheGroup) -> bool:
        return not apart.isdisjoint(group.layer_names)

    return kernel_blocks.kernel_block_sizes(attention.groups, attention.members, whole)


@vllm("allocate_kv_cache", "create_kv_cache_views", since="0.29")
def views(given: Given, built: Built) -> Views:
    """Return the view of every layer. Raises Refused."""
    with stage("allocate", "allocate_kv_cache"):
        allocation = backing(built.tensors, given.deployed.deployment.platform)
        if allocation is None:
            return Views()
        viewer = Viewer(built.layout.standard, given.num_blocks, allocation)
        of = Frozen(_of_tensors(built, viewer))
        check_sharing(given, of)
        if given.document.model.kernel_config.enable_jit_warmup:
            used = {layer: one.backend for layer, one in built.grouped.backends.items()}
            check_bound_layers(built.tensors, built.attention.groups, used)
        return Views(of, Frozen(places(built.tensors, allocation)))


def check_bound_layers(
    tensors: Sequence[Tensor], groups: Sequence[KVCacheGroup], backends: Mapping[str, Backend]
) -> None:
    """Nothing where every layer takes the view that it is bound to. Raises Refused."""
    by_rows = {layer: backend for layer, backend in backends.items() if "binds_whole_rows" in backend.entry}
    if by_rows:
        check_rows(tensors, groups, by_rows)


def _of_tensors(built: Built, viewer: Viewer) -> Iterator[tuple[str, LayerView]]:
    """The views of each tensor's layers, all under the spec of the first."""
    home = {layer: group for group in built.attention.groups for layer in group.layer_names}
    sizes = built.kernel_blocks
    for tensor in built.tensors:
        first = tensor.shared_by[0]
        group = home[first]
        size = sizes[group.id] if group.id < len(sizes) else None
        with stage("allocate", "create_kv_cache_views", ("kv_cache_config", "kv_cache_groups", group.id)):
            yield from viewer.views(group.spec_of(first), tensor, size).items()


def reasons(given: Given, built: Built) -> tuple[Reason, ...]:
    """Return the reasons of a cache whose groups have been built."""
    text = f"{built.layout.name}: {built.layout.why}"
    layout = Reason("layout", text, "resolve_kv_cache_layout, VLLM_KV_CACHE_LAYOUT")
    return (layout, *steps.pages(given, built), *steps.kernel_blocks(given, built), _placement(given, built))


def _placement(given: Given, built: Built) -> Reason:
    count = len(built.tensors)
    if given.document.tensors:
        return Reason("placement", f"{counted(count, 'tensor')}, as the document says", "kv_cache_tensors")
    outermost = built.layout.standard.block_outermost
    how = "each block holds a page of every layer" if outermost else "each layer has a region of its own"
    size = built.tensors[0].size if built.tensors else 0
    text = f"one allocation of {counted(size, 'byte')}; {how}, and all groups begin at byte 0"
    return Reason("placement", text, "get_kv_cache_config_from_groups")
