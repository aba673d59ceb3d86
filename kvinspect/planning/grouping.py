"""Which layers share a block table: `get_kv_cache_groups`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.latent_windows import latent_groups
from kvinspect.planning.packed import packed_groups
from kvinspect.planning.unify import unified
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import GroupSpec, LayerSpec, Specs
from kvinspect.specs.merging import merged, merges
from kvinspect.specs.uniform_type import UniformTypeSpecs

if TYPE_CHECKING:
    from kvinspect.planning.release import Buckets, LayerGroups, PlannerRelease


class Grouping(NamedTuple):
    """The groups, by which rule they came about and why, and how many layers of each group are padding."""

    groups: tuple[KVCacheGroup, ...]
    rule: str
    why: str
    specs: Specs
    """The layers' specs as they were planned with."""
    padding: tuple[tuple[int, int], ...] = ()
    """(padding layers, layers) of each kind of layer that does not fill its last group."""


@vllm("get_kv_cache_groups")
def grouped(specs: Specs, deployment: Deployment, release: PlannerRelease) -> Grouping:
    """The KV cache groups of a whole model. Raises Refused where the engine stops."""
    if deployment.disable_hybrid_kv_cache_manager:
        specs = release.without_hybrid_manager(specs, release)
    if not specs:
        return Grouping((), "attention_free", "no layer has a KV cache", specs)
    if merges(list(specs.values()), release.merging):
        one = merged(specs.values(), release.merging)
        why = "all layers have the same spec, so they share one block table"
        return Grouping(_numbered([(list(specs), one)]), "uniform_spec", why, specs)
    typed = UniformTypeSpecs.of(specs, release)
    if typed is not None:
        why = "all layers need as many token slots, in pages of different sizes: one group, and a spec for each layer"
        return Grouping(_numbered([(list(specs), typed)]), "uniform_type", why, specs)
    if release.packs_latents(specs, release):
        why = "latent layers with windows of several sizes are packed side by side in each block"
        return Grouping(latent_groups(specs, release), "packed", why, specs)
    latent_index = release.latent_index(specs, release)
    if latent_index is not None:
        why = "the states share the pages of the latents, and their index has pages of its own next to them"
        return Grouping(_numbered(latent_index), "latent_index", why, specs)
    hidden = {layer: spec for layer, spec in specs.items() if spec.hidden_states}
    rest = {layer: spec for layer, spec in specs.items() if layer not in hidden}
    packed = packed_groups(rest, deployment, release)
    if packed is not None:
        why = "pages differ and blocks are outermost, so layers are packed side by side in each block"
        groups: list[tuple[list[str], GroupSpec]] = [([layer for layer, _ in one.specs], one) for one in packed]
        groups += [([layer], spec) for layer, spec in hidden.items()]
        return Grouping(_numbered(groups), "packed", why, specs)
    return _mixed(specs, hidden, rest, release)


def _mixed(specs: Specs, hidden: Specs, rest: dict[str, LayerSpec], release: PlannerRelease) -> Grouping:
    """Kinds that need different numbers of blocks, in groups of about the same number of layers, with pages alike."""
    try:
        rest = unified(rest, release)
    except Refused as refused:
        fallback = release.fallback(specs, release) if refused.refusal.type == "NotImplementedError" else None
        if fallback is None:
            raise
        why = "the pages cannot be made alike, so layers with a window are planned as with full attention"
        return Grouping(_numbered([(list(specs), fallback)]), "full_allocation", why, fallback.by_layer)
    members, why, padding = _split(release.buckets(rest, release))
    groups = [(layers, merged([rest[layer] for layer in layers], release.merging)) for layers in members]
    if hidden:
        groups = release.room_for_hidden(groups, hidden, release)
        groups += _hidden(hidden, [spec for _, spec in groups], release)
    return Grouping(_numbered(groups), "uniform_page_size", why, {**rest, **hidden}, padding)


def _numbered(groups: Sequence[tuple[list[str], GroupSpec]]) -> tuple[KVCacheGroup, ...]:
    return tuple(KVCacheGroup(i, tuple(layers), spec) for i, (layers, spec) in enumerate(groups))


@vllm("_get_kv_cache_groups_uniform_page_size", until="0.26")
def by_spec(specs: Specs, release: PlannerRelease) -> Buckets:
    """0.25 and 0.26: layers with the very same spec."""
    found: dict[LayerSpec, list[str]] = defaultdict(list)
    for layer, spec in specs.items():
        found[spec].append(layer)
    return list(found.values())


@vllm("_get_kv_cache_groups_uniform_page_size", since="0.27")
def by_merging(specs: Specs, release: PlannerRelease) -> Buckets:
    """From 0.27 on: layers whose specs can be merged, in the order in which they come."""
    layers: Buckets = []
    members: list[list[LayerSpec]] = []
    for names in by_spec(specs, release):
        spec = specs[names[0]]
        home = next((i for i, others in enumerate(members) if _goes_with(others, spec, release)), None)
        if home is None:
            layers.append(list(names))
            members.append([spec])
        else:
            layers[home] += names
            members[home].append(spec)
    return layers


def _goes_with(others: Sequence[LayerSpec], spec: LayerSpec, release: PlannerRelease) -> bool:
    try:
        merged([*others, spec], release.merging)
    except Refused as refused:
        if refused.refusal.type not in ("AssertionError", "ValueError"):
            raise
        return False
    return True


MOSTLY_ALIKE = 1.5
"""Up to this ratio of layers of the commonest and the rarest kind, groups are as large as the commonest."""


def _split(buckets: Buckets) -> tuple[Buckets, str, tuple[tuple[int, int], ...]]:
    """Groups of one size (`_get_kv_cache_groups_uniform_page_size`), why that size, and the padding."""
    if not buckets:
        raise Refused("ValueError", "no layer is left to group", function="_get_kv_cache_groups_uniform_page_size")
    counts = [len(layers) for layers in buckets]
    close = max(counts) < min(counts) * MOSTLY_ALIKE
    size = max(counts) if close else min(counts)
    why = f"groups have {counted(size, 'layer')} each: {_why_so_large(counts, close)}"
    groups: Buckets = []
    for layers in buckets:
        count = -(-len(layers) // size)
        groups += [layers[i::count] for i in range(count)]
    padding = tuple((-n % size, n) for n in counts if n % size)
    return groups, why, padding


def _why_so_large(counts: Sequence[int], close: bool) -> str:
    """Why groups have as many layers as the most frequent kind, or as few as the rarest."""
    if len(counts) == 1:
        return "all layers are of one kind"
    ratio = f"{'less than' if close else 'at least'} {MOSTLY_ALIKE} times"
    return f"the most frequent kind of layer has {max(counts)}, {ratio} the {min(counts)} of the rarest kind"


def _hidden(hidden: Specs, others: Sequence[LayerSpec], release: PlannerRelease) -> list[tuple[list[str], LayerSpec]]:
    """Layers that store hidden states, a group each, with the page of the others."""
    pages = {release.page(spec) for spec in others}
    if len(pages) != 1:
        raise Refused("AssertionError", "the groups' pages differ in bytes", function="get_uniform_page_size")
    page = pages.pop()
    common = gcd(*(spec.block_size for spec in others))
    found = []
    for layer, spec in hidden.items():
        size = release.hidden_block(max(page // spec.token_bytes, 1), common)
        found.append(([layer], release.rebuilt(spec, block_size=size, page_size_padded=page)))
    return found


@vllm("get_kv_cache_groups", until="0.29")
def pages_as_they_are(groups: LayerGroups, hidden: Specs, release: PlannerRelease) -> LayerGroups:
    """Up to 0.29: a page may be too small for one token's hidden states."""
    return groups


@vllm("_ensure_min_page_size", since="0.30")
def pages_for_one_token(groups: LayerGroups, hidden: Specs, release: PlannerRelease) -> LayerGroups:
    """From 0.30 on pages grow until one token's hidden states fit (`_ensure_min_page_size`)."""
    token = max(spec.token_bytes for spec in hidden.values())
    page = release.page(groups[0][1])
    if token <= page:
        return groups
    if page == 0:
        raise Refused("ZeroDivisionError", "a page has no bytes", function="_ensure_min_page_size")
    scale = -(-token // page)
    return [(layers, _scaled(spec, scale, release)) for layers, spec in groups]


def _scaled(spec: LayerSpec, scale: int, release: PlannerRelease) -> LayerSpec:
    padded = spec if spec.page_size_padded is None else spec.padded(spec.page_size_padded * scale)
    return release.rebuilt(padded, block_size=spec.block_size * scale)


@vllm("_get_kv_cache_groups_uniform_page_size", until="0.27")
def as_many_as_fit(fitting: int, common: int) -> int:
    """Up to 0.27."""
    return fitting


@vllm("_largest_divisor_at_most", since="0.28")
def dividing_the_others(fitting: int, common: int) -> int:
    """0.28: the largest divisor of the other blocks that fits.

    >>> dividing_the_others(5, 16)
    4
    """
    return max(size for size in range(1, min(fitting, common) + 1) if common % size == 0)


@vllm("_project_kv_cache_groups_to_worker")
def project(groups: Sequence[KVCacheGroup], layers: Specs) -> tuple[KVCacheGroup, ...]:
    """The groups of one worker: those of its layers (`_project_kv_cache_groups_to_worker`)."""
    return tuple(_projected(group, layers) for group in groups)


def _projected(group: KVCacheGroup, layers: Specs) -> KVCacheGroup:
    names = tuple(layer for layer in group.layer_names if layer in layers)
    return group._replace(layer_names=names, spec=group.spec.only(layers) if names else group.spec)
