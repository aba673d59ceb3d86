"""Models of latent layers with windows of several sizes (DeepSeek V4): groups whose layers' pages differ.

Follows `group_and_unify_kv_cache_specs` and `_get_kv_cache_groups_uniform_groups` (0.25 to 0.28).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec, Specs
from kvinspect.specs.uniform_type import UniformTypeSpecs

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease


@vllm("get_kv_cache_groups", until="0.25")
def always(specs: Specs, release: PlannerRelease) -> bool:
    """0.25: one layer with a window over latents is enough."""
    return any(spec.latent_window for spec in specs.values())


@vllm("get_kv_cache_groups", since="0.29")
def never(specs: Specs, release: PlannerRelease) -> bool:
    """From 0.29 on such layers are packed as any whose pages differ."""
    return False


@vllm("get_kv_cache_groups", since="0.26", until="0.28")
def where_pages_differ(specs: Specs, release: PlannerRelease) -> bool:
    """From 0.26 on: layers with pages alike are grouped as those of any model."""
    return always(specs, release) and len({release.page(spec) for spec in specs.values()}) > 1


@vllm("group_and_unify_kv_cache_specs", "_get_kv_cache_groups_uniform_groups", until="0.28")
def latent_groups(specs: Specs, release: PlannerRelease) -> tuple[KVCacheGroup, ...]:
    """One group of the layers without a window, then groups of like windows, cut to about the same number of layers.

    Raises Refused where the layers are not of one type, or pages with a window come in different numbers.
    """
    everything, windows = _by_window(specs, release)
    counts = [layer_tuples(one, release) for one in (everything, *windows)]
    target = least_padding(counts, counts[0])
    members = [everything.specs]
    for window in windows:
        fitted = release.fit_pages(window, everything, release)
        members += _cut(fitted, target, release)
    return tuple(
        KVCacheGroup(i, tuple(layer for layer, _ in one), UniformTypeSpecs(one[0][1].block_size, one))
        for i, one in enumerate(members)
    )


def _by_window(specs: Specs, release: PlannerRelease) -> tuple[UniformTypeSpecs, list[UniformTypeSpecs]]:
    full: dict[str, LayerSpec] = {}
    windows: dict[tuple[int, int | None], dict[str, LayerSpec]] = defaultdict(dict)
    for layer, spec in specs.items():
        if spec.latent_window:
            windows[spec.block_size, getattr(spec, "sliding_window", None)][layer] = spec
        elif spec.latent:
            full[layer] = spec
    return _typed(full, release), [_typed(window, release) for window in windows.values()]


def _typed(specs: Specs, release: PlannerRelease) -> UniformTypeSpecs:
    found = UniformTypeSpecs.of(specs, release) if specs else None
    if found is None:
        text = "no layer keeps all latents" if not specs else "latent layers need different numbers of slots"
        raise Refused("AssertionError", text, function="group_and_unify_kv_cache_specs")
    return found


@vllm("UniformTypeKVCacheSpecs.get_num_layer_tuples", until="0.28")
def layer_tuples(group: UniformTypeSpecs, release: PlannerRelease) -> int:
    """How often the pattern of pages repeats in a group: the count of its commonest page (`get_num_layer_tuples`)."""
    return Counter(release.page(spec) for _, spec in group.specs).most_common(1)[0][1]


@vllm("_approximate_gcd")
def least_padding(counts: Sequence[int], least: int) -> int:
    """The number of slots, from `least` on, that pads all counts least; the larger of two alike (`_approximate_gcd`).

    >>> least_padding([11, 21], 11), least_padding([7, 8], 7), least_padding([2], 5)
    (11, 8, 5)
    """
    slots = range(max(least, 1), max(counts) + 1)
    return min(slots, key=lambda size: (sum(-n % size for n in counts), -size), default=max(least, 1))


def _cut(group: UniformTypeSpecs, slots: int, release: PlannerRelease) -> list[tuple[tuple[str, LayerSpec], ...]]:
    """A group in the number that is needed for `slots` layers of each page, dealt out in turn."""
    by_page: dict[int, list[tuple[str, LayerSpec]]] = defaultdict(list)
    for layer, spec in group.specs:
        by_page[release.page(spec)].append((layer, spec))
    if len({len(layers) for layers in by_page.values()}) > 1:
        text = "layers with a window have pages of several sizes in different numbers"
        raise Refused("AssertionError", text, function="_get_kv_cache_groups_uniform_groups")
    tuples = list(zip(*by_page.values(), strict=True))
    count = -(-len(tuples) // slots)
    return [tuple(pair for one in tuples[i::count] for pair in one) for i in range(count)]


@vllm("group_and_unify_kv_cache_specs", until="0.26")
def padded_to_full(window: UniformTypeSpecs, full: UniformTypeSpecs, release: PlannerRelease) -> UniformTypeSpecs:
    """0.25 and 0.26: each page with a window is padded to the next larger one of the layers without."""
    known = {release.page(spec) for _, spec in full.specs}
    if max(release.page(spec) for _, spec in window.specs) > max(known):
        text = "a page with a window is larger than every page without"
        raise Refused("AssertionError", text, function="_get_kv_cache_groups_uniform_groups")

    def fitted(spec: LayerSpec) -> LayerSpec:
        """A spec whose page, in bytes, is one of the pages without a window."""
        page = min(page for page in known if page >= release.page(spec))
        return spec if page == release.page(spec) else spec.padded(page)

    return UniformTypeSpecs(window.block_size, tuple((layer, fitted(spec)) for layer, spec in window.specs))


@vllm("group_and_unify_kv_cache_specs", since="0.27", until="0.28")
def as_they_are(window: UniformTypeSpecs, full: UniformTypeSpecs, release: PlannerRelease) -> UniformTypeSpecs:
    """From 0.27 on: groups lie over each other densely, so their pages need not match."""
    return window
