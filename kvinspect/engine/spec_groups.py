"""The first two stages: the specs of a document's groups, and the groups with what their backends make of them."""

from __future__ import annotations

from kvinspect.document.frozen import Frozen
from kvinspect.engine.document_specs import group_spec
from kvinspect.engine.groups import KVCacheGroup, LayerBackends, cache_groups
from kvinspect.engine.release import EngineRelease, Given
from kvinspect.engine.stages import Groups, Specs
from kvinspect.engine.start_up_steps import stage
from kvinspect.specs.kinds import LayerSpec


def specs(given: Given) -> Specs:
    """Return the spec of each group, as the release's classes make it. Raises Refused where they do not take one."""
    release = given.release
    written = [group_spec(group, release.catalogue) for group in given.document.groups]
    return tuple(spec.mapped(lambda one, layer: release.aligned_spec(one), "") for spec in written)


def grouped(given: Given, specs: Specs) -> Groups:
    """Return the groups, sharing layers among them, with the backend of every layer. Raises Refused."""
    document = given.document
    groups = cache_groups(document, specs)
    runs, sizes = LayerBackends(document, given.deployed.backends, groups), dict[str, int]()
    packed = tuple(_customized(group, runs, given.release, sizes) for group in groups)
    layers = [layer for group in packed for layer in group.layer_names]
    return Groups(packed, Frozen((layer, runs.of(layer)) for layer in (*layers, *document.shared)), Frozen(sizes))


def _customized(
    group: KVCacheGroup, runs: LayerBackends, release: EngineRelease, sizes: dict[str, int]
) -> KVCacheGroup:
    """The group with what the backend of its (first) layer packs, and that backend told the V head size."""

    def one(spec: LayerSpec, layer: str) -> LayerSpec:
        """The spec of one layer as its backend packs it."""
        backend = runs.of(layer).backend
        if backend.value_size_of_class and spec.is_attention:
            sizes[backend.name] = spec.head_size_v or spec.head_size
        return release.customized_spec(spec, backend)

    with stage("customize_spec", path=(*group.path, "kv_cache_spec")):
        if not group.layer_names and not group.spec.each_its_own:
            return group
        return group._replace(spec=group.spec.mapped(one, next(iter(group.layer_names), "")))
