"""The stages of a cache with one allocation a tensor, each for the layers of one or several groups (0.25 to 0.28)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from kvinspect.backends.backend import Backend
from kvinspect.document.document import TENSORS
from kvinspect.document.frozen import Frozen
from kvinspect.document.refusal import Refused, Unknown
from kvinspect.engine import across_layers, encoder_only, kernel_blocks, placement, reshape
from kvinspect.engine.groups import AttentionGroup
from kvinspect.engine.layout.layouts import Layout
from kvinspect.engine.release import EngineRelease, Given
from kvinspect.engine.reshape import LayerView, Place, Reshaper
from kvinspect.engine.stages import Attention, Built, Groups, KernelBlocks, Tensors, Views
from kvinspect.engine.start_up_steps import stage
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec


@vllm("get_kv_cache_layout", "AttentionBackend.get_required_kv_cache_layout", until="0.28")
def layout(
    backends: Sequence[Backend], specs: Iterable[LayerSpec], asked: str | None, release: EngineRelease
) -> Layout:
    """Return the layout that is asked for, or that of the last backend that requires one."""
    required = [backend.required_layout for backend in backends if backend.required_layout]
    written = asked or "NHD"
    if written not in ("NHD", "HND"):
        raise Unknown(("kv_cache_layout",), written, f"NHD or HND in vLLM {release.version}", kind="unknown-layout")
    return Layout(required[-1] if required else written)


@vllm("get_kv_cache_config_from_groups", until="0.28")
def tensors(given: Given, grouped: Groups, layout: Layout) -> Tensors:
    """Return the document's allocations, else the planner's."""
    document, num_blocks = given.document, given.num_blocks
    written = document.tensors
    _check_fields(given)
    if written is None:
        groups = encoder_only.without(grouped.groups) if given.release.encoder_only_last else grouped.groups
        return given.release.place(groups, given.release.space(num_blocks, None, across_layers.asked_for(document)))
    if num_blocks == document.num_blocks:
        return written
    made = placement.resized(written, document.num_blocks, num_blocks)
    if made is None:
        raise Unknown(TENSORS, "a size", "sizes of whole blocks to change their number")
    return made


def _check_fields(given: Given) -> None:
    """Raises Refused for a stride of layers, for which `KVCacheTensor` has no field."""
    for tensor in given.document.tensors or ():
        if tensor.layer_stride is not None:
            text = f"KVCacheTensor of vLLM {given.release.version} has no field layer_stride"
            path = (*TENSORS, tensor.id, "layer_stride")
            raise Refused("TypeError", text, function="KVCacheTensor", path=path)


@vllm("prepare_kernel_block_sizes", "select_common_block_size", until="0.30")
def kernel_block_sizes(attention: Attention, tensors: Tensors) -> KernelBlocks:
    """Return kernel block sizes that are chosen from the backends alone (0.25 to 0.30)."""
    return kernel_blocks.kernel_block_sizes(attention.groups, attention.members)


@vllm("_allocate_kv_cache", "_reshape_kv_cache", until="0.28")
def views(given: Given, built: Built) -> Views:
    """Return views of allocations of their own. Raises Refused."""
    made = _views(given, built)
    with stage(given.release.reshape.shares_at, "_reshape_kv_cache"):
        check_sharing(given, made.of)
    return made


def check_sharing(given: Given, views: Mapping[str, LayerView]) -> None:
    """Raises Refused where a layer would share the cache of one that has no view."""
    for alias, target in given.document.shared.items():
        if target not in views:
            text = f"{target} has no view that {alias} could share"
            raise Refused("KeyError", text, path=("shared_kv_cache_layers", alias))


def _views(given: Given, built: Built) -> Views:
    attention, shaper = built.attention, reshaper(given, built)
    takes = given.release.reshape.across_layers
    if across_layers.applies(given.document, attention.members, built.layout.name, takes):
        with stage("allocate", "allocate_uniform_kv_caches"):
            found, made = across_layers.views(shaper, attention.flat[0], built.tensors)
        return Views(Frozen(made), Frozen(found), across_layers=True)
    places = reshape.places(built.tensors)
    _check_allocated(given, attention, places.keys())
    with stage("reshape", "_reshape_kv_cache"):
        shaper = shaper._replace(page_aligned=_beside_states(given, built, shaper))
        of = Frozen(_of_groups(given, attention, shaper, places))
    return Views(of, Frozen(places), page_aligned=shaper.page_aligned)


def _check_allocated(given: Given, attention: Attention, placed: Set[str]) -> None:
    """Raises Refused where the layers on the tensors are not exactly those that have a cache of their own."""
    older = given.release.encoder_only_last
    home = {layer: group for group in attention.groups for layer in (*group.layer_names, *group.sharing)}
    own = {layer for group in attention.groups if group.spec.managed or not older for layer in group.layer_names}
    held = placed if older else placed - given.document.shared.keys()
    odd = next((layer for layer in home if (layer in own) != (layer in held)), None)
    if odd is not None:
        text = f"no tensor holds {odd}" if odd in own else f"{odd} lies on a tensor and has no cache of its own"
        path, function = home[odd].path, "_allocate_kv_cache"
        raise Refused("AssertionError", text, stage="allocate", function=function, path=path, kind="misplaced-layer")


def reshaper(given: Given, built: Built, page_aligned: frozenset[str] = frozenset()) -> Reshaper:
    """Return what reshapes the layers of a cache."""
    return Reshaper(
        rules=given.release.reshape,
        layout=built.layout.name,
        cache_dtype=given.document.model.cache_dtype,
        kernel_block_sizes=built.kernel_blocks,
        value_sizes=built.grouped.value_sizes,
        page_aligned=page_aligned,
    )


def _beside_states(given: Given, built: Built, shaper: Reshaper) -> frozenset[str]:
    """The layers whose blocks keep to pages. Asks every backend for its shape, which may be what it refuses."""
    if not given.release.page_aligned_step:
        return frozenset()
    flat = built.attention.flat
    known = [group for group in flat if group.kv_cache_group_id < len(built.kernel_blocks)]
    states = [group for group in flat if not group.spec.is_attention]
    return reshape.kv_first_beside_mamba([*known, *states], built.tensors, shaper.block_dim)


Made = dict[tuple[object, ...], LayerView]


def _of_groups(
    given: Given, attention: Attention, shaper: Reshaper, places: Mapping[str, Place]
) -> Iterator[tuple[str, LayerView]]:
    """The view of each layer that has a place; of a group, layers on allocations alike have the same."""
    for group in attention.flat:
        made: Made = {}
        path = attention.groups[group.kv_cache_group_id].path
        if not shaper.rules.has_views(group.kv_cache_group_id, len(shaper.kernel_block_sizes)):
            continue
        for layer in group.layer_names:
            if layer in places and layer not in given.document.shared:
                with stage("reshape", "_reshape_attention_kv_cache", path):
                    yield layer, _of_layer(made, shaper, group, layer, places[layer])


def _of_layer(made: Made, shaper: Reshaper, group: AttentionGroup, layer: str, place: Place) -> LayerView:
    key = (place.allocation.size, place.packing, layer in shaper.page_aligned)
    if key not in made:
        made[key] = shaper.view(group, layer, place)
    return made[key]
