"""The KV cache of a document as it comes about: the engine's start-up from specs to views, before the alignment.

Each step fills in what the next ones read, in the engine's order: `build_groups` goes as far as the kernel block sizes,
which is all that CUDA graphs need; `build_views` makes the views.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvinspect.document.document import Document, Tensor
from kvinspect.engine import across_layers, encoder_only, groups, kernel_blocks, placement, reshape
from kvinspect.engine.backends import Backend, Backends
from kvinspect.engine.groups import AttentionGroup, KVCacheGroup, LayerBackends
from kvinspect.engine.refusal import Refusal, Refused, Unknown, stage
from kvinspect.engine.reshape import LayerView, Place
from kvinspect.engine.situation import Situation
from kvinspect.engine.specs import group_spec
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.kinds import GroupSpec, LayerSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs

if TYPE_CHECKING:
    from kvinspect.engine.release import EngineRelease


@dataclass
class Cache:
    """The KV cache of a document as it comes about; each step fills in what the next ones read."""

    document: Document
    release: EngineRelease
    situation: Situation
    backends: Backends
    num_blocks: int
    groups: tuple[KVCacheGroup, ...] = ()
    layer_backends: LayerBackends = field(init=False)
    """Set by the first step."""
    value_sizes: dict[str, int] = field(default_factory=dict)
    layout: str = "NHD"
    layout_why: str = ""
    tensors: tuple[Tensor, ...] = ()
    attention: tuple[tuple[AttentionGroup, ...], ...] = ()
    kernel_block_sizes: tuple[int, ...] = ()
    shaper: reshape.Reshaper = field(init=False)
    places: Mapping[str, Place] = field(default_factory=dict)
    whole: bool = False
    """Whether all layers lie on one allocation, block by block, because a KV connector asks for it."""
    views: dict[str, LayerView] = field(default_factory=dict)
    built: bool = False
    """Whether the first step is done, be it with a refusal."""
    refusal: Refusal | None = None
    """What stopped the first step."""

    @classmethod
    def of(cls, document: Document, release: EngineRelease, num_blocks: int) -> Cache:
        """The cache of a document before the first step."""
        situation = Situation.of(document)
        backends = Backends(release.catalogue, document.model.backends, situation.facts())
        return cls(document, release, situation, backends, num_blocks)

    @property
    def flat(self) -> list[AttentionGroup]:
        """All attention groups in the engine's order."""
        return [group for members in self.attention for group in members]

    def page_size_bytes(self, spec: LayerSpec) -> int:
        """Bytes of a block of one layer."""
        return spec.page(self.release.reshape.unpadded_page)


def build_groups(cache: Cache) -> None:
    """Specs, groups, layout, placement, attention groups and kernel block sizes, done once. Raises Refused."""
    if not cache.built:
        try:
            _build_groups(cache)
        except Refused as refused:
            cache.refusal = refused.refusal
        cache.built = True
    if cache.refusal is not None:
        raise Refused.carrying(cache.refusal)


def _build_groups(cache: Cache) -> None:
    document, release = cache.document, cache.release
    with stage("spec"):
        specs = [_aligned_specs(group_spec(group, release.catalogue), release) for group in document.groups]
    cache.groups = groups.cache_groups(document, specs)
    cache.layer_backends = LayerBackends(document, cache.backends, cache.groups)
    with stage("customize_spec"):
        cache.groups = tuple(_customized(cache, group) for group in cache.groups)
    cache.layer_backends = LayerBackends(document, cache.backends, cache.groups)
    with stage("layout"):
        cache.layout = release.storage.layout(cache)
    with stage("placement"):
        cache.tensors = release.storage.tensors(cache)
    with stage("init_attn_backend"):
        if release.encoder_only_last:
            cache.groups = encoder_only.last(cache.groups)
        cache.attention = tuple(groups.attention_groups(group, cache.layer_backends.of) for group in cache.groups)
        given = document.model.kernel_block_sizes
        cache.kernel_block_sizes = release.storage.kernel_block_sizes(cache) if given is None else tuple(given)


def _aligned_specs(spec: GroupSpec, release: EngineRelease) -> GroupSpec:
    if isinstance(spec, UniformTypeSpecs):
        inner = tuple((layer, release.aligned_spec(one)) for layer, one in spec.specs)
        return UniformTypeSpecs(spec.block_size, inner)
    return release.aligned_spec(spec)


def _customized(cache: Cache, group: KVCacheGroup) -> KVCacheGroup:
    """The group with what the backend of its (first) layer packs, and that backend told the V head size."""

    def one(spec: LayerSpec, layer: str) -> LayerSpec:
        backend, _ = cache.layer_backends.of(layer)
        if isinstance(spec, AttentionSpec) and backend.value_size_of_class:
            cache.value_sizes[backend.name] = spec.head_size_v or spec.head_size
        return cache.release.customized_spec(spec, backend)

    with stage("customize_spec", path=(*group.path, "kv_cache_spec")):
        if isinstance(group.spec, UniformTypeSpecs):
            inner = tuple((layer, one(spec, layer)) for layer, spec in group.spec.specs)
            return group._replace(spec=UniformTypeSpecs(group.spec.block_size, inner))
        return group._replace(spec=one(group.spec, group.layer_names[0])) if group.layer_names else group


def own_layout(cache: Cache) -> str:
    """The document's layout, or that of the last backend that requires one (0.25 to 0.28)."""
    required = [backend.required_layout for backend in backends_of(cache).values() if backend.required_layout]
    written = cache.document.model.kv_cache_layout or "NHD"
    if written not in ("NHD", "HND"):
        raise Unknown(
            ("kv_cache_layout",), written, f"NHD or HND in vLLM {cache.release.version}", kind="unknown-layout"
        )
    return required[-1] if required else written


def backends_of(cache: Cache) -> dict[str, Backend]:
    """Name → backend, in the order in which the layers come, KV-sharing ones last."""
    layers = [layer for group in cache.groups for layer in group.layer_names]
    found = [cache.layer_backends.of(layer)[0] for layer in (*layers, *cache.document.shared)]
    order: dict[str, Backend] = {}
    for backend in found:
        order.setdefault(backend.name, backend)
    return order


def own_kernel_block_sizes(cache: Cache) -> tuple[int, ...]:
    """Chosen from the backends alone (0.25 to 0.30)."""
    return kernel_blocks.kernel_block_sizes(cache.groups, cache.attention)


def own_tensors(cache: Cache) -> tuple[Tensor, ...]:
    """The document's allocations, else the planner's (0.25 to 0.28)."""
    written = cache.document.tensors
    _check_fields_of_tensors(cache)
    if written is not None and cache.num_blocks == cache.document.num_blocks:
        return written
    if written is not None:
        made = placement.resized(written, cache.document.num_blocks, cache.num_blocks)
        if made is None:
            raise Unknown(
                ("kv_cache_config", "kv_cache_tensors"), "a size", "sizes of whole blocks to change their number"
            )
        return made
    across = across_layers.asked_for(cache.document)
    planned = encoder_only.without(cache.groups) if cache.release.encoder_only_last else cache.groups
    rule = cache.release.packed_placement
    return placement.place(planned, cache.num_blocks, cache.release.reshape.unpadded_page, rule, across)


def _check_fields_of_tensors(cache: Cache) -> None:
    """Raises Refused for a stride of layers, for which `KVCacheTensor` has no field (0.25 to 0.28)."""
    for tensor in cache.document.tensors or ():
        if tensor.layer_stride is not None:
            path = ("kv_cache_config", "kv_cache_tensors", tensor.id, "layer_stride")
            text = f"KVCacheTensor of vLLM {cache.release.version} has no field layer_stride"
            raise Refused("TypeError", text, function="KVCacheTensor", path=path)


def build_views(cache: Cache) -> None:
    """The view of every layer that gets one, before any alignment. Raises Refused."""
    cache.release.storage.build_views(cache)


def own_views(cache: Cache) -> None:
    """Views of allocations of their own (0.25 to 0.28). Raises Refused."""
    rules = cache.release.reshape
    cache.places = reshape.places(cache.tensors)
    cache.shaper = _reshaper(cache)
    cache.whole = across_layers.applies(cache.document, cache.attention, cache.layout, rules.across_layers)
    if cache.whole:
        with stage("allocate", "allocate_uniform_kv_caches"):
            cache.places, cache.views = across_layers.views(cache.shaper, cache.flat[0], cache.tensors)
    else:
        _check_allocated(cache)
        with stage("reshape", "_reshape_kv_cache"):
            cache.shaper = _beside_states(cache)
            for group in cache.flat:
                if rules.has_views(group.kv_cache_group_id, len(cache.kernel_block_sizes)):
                    _view_group(cache, group)
    with stage(rules.shares_at, "_reshape_kv_cache"):
        for alias, target in cache.document.shared.items():
            if target not in cache.views:
                text = f"{target} has no view that {alias} could share"
                raise Refused("KeyError", text, path=("shared_kv_cache_layers", alias))


def _check_allocated(cache: Cache) -> None:
    """Raises Refused where the layers on the tensors are not exactly those that have a cache of their own."""
    older = cache.release.encoder_only_last
    outside = encoder_only.KIND if older else ""
    home = {layer: group for group in cache.groups for layer in (*group.layer_names, *group.sharing)}
    own = {layer for group in cache.groups if group.spec.kind != outside for layer in group.layer_names}
    held = set(cache.places) if older else cache.places.keys() - cache.document.shared.keys()
    odd = next((layer for layer in home if (layer in own) != (layer in held)), None)
    if odd is not None:
        text = f"no tensor holds {odd}" if odd in own else f"{odd} lies on a tensor and has no cache of its own"
        path, function = home[odd].path, "_allocate_kv_cache"
        raise Refused("AssertionError", text, stage="allocate", function=function, path=path, kind="misplaced-layer")


def _reshaper(cache: Cache) -> reshape.Reshaper:
    return reshape.Reshaper(
        rules=cache.release.reshape,
        layout=cache.layout,
        cache_dtype=cache.document.model.cache_dtype,
        kernel_block_sizes=cache.kernel_block_sizes,
        value_sizes=cache.value_sizes,
    )


def _beside_states(cache: Cache) -> reshape.Reshaper:
    """With the layers whose blocks keep to pages. Asks every backend for its shape, which may be what it refuses."""
    if not cache.release.page_aligned_step:
        return cache.shaper
    known = [group for group in cache.flat if group.kv_cache_group_id < len(cache.kernel_block_sizes)]
    states = [group for group in cache.flat if not isinstance(group.spec, AttentionSpec)]
    beside = reshape.kv_first_beside_mamba([*known, *states], cache.tensors, cache.shaper.block_dim)
    return cache.shaper._replace(page_aligned=beside)


def _view_group(cache: Cache, group: AttentionGroup) -> None:
    """The views of a group's layers; layers on allocations alike have the same."""
    shaper = cache.shaper
    made: dict[tuple[object, ...], LayerView] = {}
    for layer in group.layer_names:
        if layer in cache.document.shared or layer not in cache.places:
            continue
        place = cache.places[layer]
        key = (place.allocation.size, place.packing, layer in shaper.page_aligned)
        if key not in made:
            with stage("reshape", "_reshape_attention_kv_cache", cache.groups[group.kv_cache_group_id].path):
                made[key] = shaper.view(group, layer, place)
        cache.views[layer] = made[key]
