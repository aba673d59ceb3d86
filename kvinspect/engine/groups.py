"""KV cache groups and the attention groups that the engine makes of them.

Follows `init_attn_backend` and `add_kv_sharing_layers_to_kv_cache_groups` (0.25 to 0.28).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kvinspect.backends.backend import Backend, Backends
from kvinspect.document.document import GROUPS, Document, Group, LayerUse
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refused
from kvinspect.specs.kinds import GroupSpec, LayerSpec, ViewedSpec


class KVCacheGroup(NamedTuple):
    """Layers that share one block table, KV-sharing layers appended behind the others."""

    id: int
    layer_names: tuple[str, ...]
    spec: GroupSpec
    sharing: tuple[str, ...] = ()
    entry: int = 0
    """Its place among the document's groups, which is its id too but where the runner moves groups."""

    @property
    def path(self) -> Path:
        """Where the group stands in the document."""
        return (*GROUPS, self.entry)

    @property
    def first_spec(self) -> LayerSpec:
        """The spec of the group, or of its first layer where each has its own."""
        return self.spec.first

    def spec_of(self, layer: str) -> LayerSpec:
        """The spec of a layer. Raises Refused where the layer has none, as KV-sharing layers in such a group."""
        found = self.spec.of_layer(layer)
        if found is None:
            text = f"the layer {layer} is not among the group's kv_cache_specs"
            path = ("shared_kv_cache_layers", layer)
            raise Refused("KeyError", text, function="init_attn_backend", path=path, kind="sharing-into-uniform")
        return found

    @property
    def layers_by_spec(self) -> Mapping[LayerSpec, tuple[str, ...]]:
        """Spec → the layers that have it and a cache of their own, in their order."""
        return self.spec.by_spec(self.layer_names)

    @property
    def counts(self) -> Mapping[LayerSpec, int]:
        """Spec → how many layers have it. Raises Refused as `spec_of`."""
        if not self.spec.each_its_own:
            return {self.first_spec: len(self.layer_names)} if self.layer_names else {}
        return Counter(map(self.spec_of, self.layer_names))


class AttentionGroup(NamedTuple):
    """Layers of one KV cache group with one backend, one spec and one number of query heads."""

    backend: Backend
    layer_names: tuple[str, ...]
    spec: ViewedSpec
    kv_cache_group_id: int
    num_heads_q: int


def cache_groups(document: Document, specs: Sequence[GroupSpec]) -> tuple[KVCacheGroup, ...]:
    """The groups as the planner hands them over, with the KV-sharing layers added to their targets' groups."""
    shared = document.shared
    groups = [_without(group, spec, shared) for group, spec in zip(document.groups, specs, strict=True)]
    home = {layer: group.id for group in groups for layer in group.layer_names}
    for alias, target in shared.items():
        group = groups[home[target]]
        groups[group.id] = group._replace(sharing=(*group.sharing, alias))
    return tuple(groups)


def _without(group: Group, spec: GroupSpec, shared: Mapping[str, str]) -> KVCacheGroup:
    return KVCacheGroup(group.id, tuple(n for n in group.layer_names if n not in shared), spec, entry=group.id)


def attention_groups(group: KVCacheGroup, backends: Mapping[str, LayerBackend]) -> tuple[AttentionGroup, ...]:
    """The layers of a group split by backend class, spec and query heads, in the order of their first layers.

    () for layers without views, which have no backend.
    """
    found: dict[tuple[str, str, ViewedSpec, int], tuple[Backend, list[str]]] = {}
    for (backend, heads, spec), layers in _alike(group, backends):
        key = (backend.module, backend.class_name, spec, heads)
        found.setdefault(key, (backend, []))[1].extend(layers)
    return tuple(
        AttentionGroup(backend, tuple(layers), key[2], group.id, key[3]) for key, (backend, layers) in found.items()
    )


def _alike(
    group: KVCacheGroup, backends: Mapping[str, LayerBackend]
) -> Iterator[tuple[tuple[Backend, int, ViewedSpec], list[str]]]:
    """Neighbouring layers with the same objects, so that their specs are compared once."""
    run: list[str] = []
    last: tuple[Backend, int, ViewedSpec] | None = None
    for layer in (*group.layer_names, *group.sharing):
        spec = group.spec_of(layer)
        if not spec.has_views:
            return
        this = (*backends[layer], spec)
        if last is not None and not (this[0] is last[0] and this[1] == last[1] and this[2] is last[2]):
            yield last, run
            run = []
        last = this
        run.append(layer)
    if last is not None:
        yield last, run


class LayerBackend(NamedTuple):
    """What runs a layer."""

    backend: Backend
    num_heads_q: int


class LayerBackends:
    """Which backend and how many query heads each layer has; a KV-sharing layer its target's where nothing is said."""

    def __init__(self, document: Document, backends: Backends, groups: tuple[KVCacheGroup, ...]) -> None:
        self.document, self.backends = document, backends
        self._found: dict[str, LayerBackend] = {}
        self.state_layers = {
            layer: spec
            for group in groups
            if any(spec.holds_states for spec in group.spec.each)
            for layer in group.layer_names
            if (spec := group.spec_of(layer)).holds_states
        }

    def of(self, layer: str) -> LayerBackend:
        """What runs a layer. Raises Refused for a backend that the release lacks."""
        found = self._found.get(layer)
        if found is None:
            found = self._found[layer] = self._of(layer)
        return found

    def _of(self, layer: str) -> LayerBackend:
        use = self._use(layer)
        default = 0 if layer in self.state_layers else self.document.model.model_config.num_attention_heads or 0
        heads = use.num_heads_q if use.num_heads_q is not None else default
        return LayerBackend(self.backends.named(use.backend, use.path), heads)

    def _use(self, layer: str) -> LayerUse:
        uses = self.document.uses
        target = self.document.shared.get(layer, layer)
        use = uses.get(layer) or uses.get(target)
        if use is not None:
            return use
        return LayerUse(self.state_layers[target].mamba_type, ())
