"""The steps of 0.29 on over a whole cache: layout, placement, kernel block sizes, views and whether it is sound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvinspect.document.document import TENSORS, Tensor
from kvinspect.document.numbers import counted
from kvinspect.engine import explain, kernel_blocks
from kvinspect.engine.cache import Cache, backends_of
from kvinspect.engine.explain import Reason
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.judge import Judged
from kvinspect.engine.layout import judged, placement, views
from kvinspect.engine.layout.latent_index import place_with_index
from kvinspect.engine.layout.layouts import KVCacheLayout
from kvinspect.engine.layout.resolve import Choice, resolve
from kvinspect.engine.refusal import Refused, Unknown, stage
from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs


def layout_by_backends(cache: Cache) -> str:
    """What the backends read and the pages need, or the document's word (0.29, 0.30)."""
    return _adopted(cache, _resolved(cache, by_sharding=False))


def layout_by_backends_and_sharding(cache: Cache) -> str:
    """As `layout_by_backends`, and decode context parallelism has a say (0.33)."""
    return _adopted(cache, _resolved(cache, by_sharding=True))


def _resolved(cache: Cache, by_sharding: bool) -> Choice:
    declared = {name: backend.layouts for name, backend in backends_of(cache).items() if not backend.is_ssm}
    requested = cache.document.model.kv_cache_layout
    unpadded = cache.release.reshape.unpadded_page
    return resolve(declared, _specs(cache), requested, unpadded, by_sharding)


def _adopted(cache: Cache, choice: Choice) -> str:
    cache.layout_why = choice.why
    return choice.layout.name


def _specs(cache: Cache) -> Iterator[LayerSpec]:
    for group in cache.groups:
        if isinstance(group.spec, UniformTypeSpecs):
            yield from (spec for _, spec in group.spec.specs)
        else:
            yield group.spec


def tensors_by_page(cache: Cache) -> tuple[Tensor, ...]:
    """The document's tensors, else the planner's, which counts in pages (0.29)."""
    return _tensors(cache) or placement.place(cache.groups, _room(cache, aligned=False))


def tensors_with_index(cache: Cache) -> tuple[Tensor, ...]:
    """As `tensors_by_page`, with the pages of a latent index in regions of their own (0.30)."""
    room = _room(cache, aligned=False)
    return _tensors(cache) or place_with_index(cache.groups, room) or placement.place(cache.groups, room)


def tensors_by_stride(cache: Cache) -> tuple[Tensor, ...]:
    """The document's tensors, else the planner's, which keeps the alignment that backends ask for (0.33)."""
    return _tensors(cache) or placement.place(cache.groups, _room(cache, aligned=True))


def _room(cache: Cache, aligned: bool) -> placement.Room:
    unpadded = cache.release.reshape.unpadded_page
    return placement.Room(cache.num_blocks, KVCacheLayout[cache.layout], unpadded, aligned)


def _tensors(cache: Cache) -> tuple[Tensor, ...]:
    """The document's tensors for as many blocks as are asked for, () where it has none."""
    written, blocks = cache.document.tensors or (), cache.document.num_blocks
    for tensor in written:
        if tensor.layer_stride is None:
            text = f"KVCacheTensor of vLLM {cache.release.version} asks for layer_stride, as all lie in one allocation"
            raise Refused("TypeError", text, function="KVCacheTensor", path=(*TENSORS, tensor.id))
    if cache.num_blocks == blocks:
        return written
    return tuple(_resized(cache, tensor, blocks) for tensor in written)


def _resized(cache: Cache, tensor: Tensor, blocks: int) -> Tensor:
    """A tensor for another number of blocks: regions of layers grow with it, the inside of a block does not."""
    by_region = KVCacheLayout[cache.layout].layer_outermost
    lengths = (tensor.size, tensor.layer_stride or 0, tensor.offset) if by_region else (tensor.size, 0, 0)
    if any(length % blocks for length in lengths):
        raise Unknown((*TENSORS, tensor.id), "a size", "sizes of whole blocks to change their number")
    size, layer_stride, offset = (length // blocks * cache.num_blocks for length in lengths)
    if not by_region:
        return tensor._replace(size=size)
    return tensor._replace(size=size, layer_stride=layer_stride, offset=offset)


def kernel_block_sizes_of_dense(cache: Cache) -> tuple[int, ...]:
    """From the backends; blocks with other layers' pages between them stay whole (0.33)."""
    apart = {
        layer
        for tensor in cache.tensors
        if tensor.block_stride > (tensor.layer_stride or 0)
        for layer in tensor.shared_by
    }

    def whole(group: KVCacheGroup) -> bool:
        return not apart.isdisjoint(group.layer_names)

    return kernel_blocks.kernel_block_sizes(cache.groups, cache.attention, whole)


def build_views(cache: Cache) -> None:
    """The view of every layer. Raises Refused."""
    with stage("allocate", "allocate_kv_cache"):
        allocation = views.backing(cache.tensors, cache.situation.platform)
        cache.places = views.places(cache.tensors, allocation)
        if allocation is None:
            return
        viewer = views.Viewer(KVCacheLayout[cache.layout], cache.num_blocks, allocation)
        home = {layer: group for group in cache.groups for layer in group.layer_names}
        for tensor in cache.tensors:
            _view_tensor(cache, viewer, tensor, home)
        for alias, target in cache.document.shared.items():
            if target not in cache.views:
                text = f"{target} has no view that {alias} could share"
                raise Refused("KeyError", text, path=("shared_kv_cache_layers", alias))


def _view_tensor(cache: Cache, viewer: views.Viewer, tensor: Tensor, home: Mapping[str, KVCacheGroup]) -> None:
    """The views of a tensor's layers, all under the spec of the first."""
    first = tensor.shared_by[0]
    group = home[first]
    sizes = cache.kernel_block_sizes
    size = sizes[group.id] if group.id < len(sizes) else None
    path = ("kv_cache_config", "kv_cache_groups", group.id)
    with stage("allocate", "create_kv_cache_views", path):
        cache.views.update(viewer.views(group.spec_of(first), tensor, size))


def judge(cache: Cache) -> Judged:
    """Whether the layers on the one allocation keep different blocks apart; nothing is aligned any more."""
    return judged.judge(cache)


def reasons(cache: Cache) -> tuple[Reason, ...]:
    """The reasons of a cache whose groups have been built."""
    layout = Reason("layout", f"{cache.layout}: {cache.layout_why}", "resolve_kv_cache_layout, VLLM_KV_CACHE_LAYOUT")
    return (layout, *explain.pages(cache), *explain.kernel_blocks(cache), _placement(cache))


def _placement(cache: Cache) -> Reason:
    count = len(cache.tensors)
    if cache.document.tensors:
        return Reason("placement", f"{counted(count, 'tensor')}, as the document says", "kv_cache_tensors")
    layout = KVCacheLayout[cache.layout]
    how = "each block holds a page of every layer" if layout.block_outermost else "each layer has a region of its own"
    size = cache.tensors[0].size if cache.tensors else 0
    text = f"one allocation of {counted(size, 'byte')}; {how}, and all groups begin at byte 0"
    return Reason("placement", text, "get_kv_cache_config_from_groups")
