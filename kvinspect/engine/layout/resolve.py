"""Which layout a model's cache gets: `get_supported_kv_cache_layouts` and `resolve_kv_cache_layout` (0.29 on).

What a KV connector prefers is not in a document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kvinspect.document.refusal import Refused
from kvinspect.engine.layout.layouts import PREFERENCE, KVCacheLayout, Layout, layout_of
from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.needs import UnpaddedPage

FUNCTION = "resolve_kv_cache_layout"


def supported(declared: Mapping[str, Sequence[str] | None]) -> list[KVCacheLayout]:
    """The layouts that all backends read, most preferred first; `declared` has each backend's, None for any.

    Lists that are the same keep their order; otherwise the layout that most backends put first wins. Raises Refused
    where no layout is on every list.
    """
    lists = [tuple(map(layout_of, names)) for names in declared.values() if names is not None]
    lists = lists or [tuple(map(layout_of, PREFERENCE))]
    if len(set(lists)) == 1:
        return list(lists[0])
    firsts = Counter(names[0] for names in lists)
    common = [layout for layout in KVCacheLayout if all(layout in names for names in lists)]
    if not common:
        said = ", ".join(f"{name} {' or '.join(names)}" for name, names in declared.items() if names is not None)
        text = f"no KV cache layout is read by every backend: {said}"
        raise Refused("ValueError", text, function="get_supported_kv_cache_layouts", kind="no-common-layout")
    return sorted(common, key=lambda layout: -firsts[layout])


def check_alike(declared: Sequence[Mapping[str, Sequence[str] | None]]) -> None:
    """Raises Refused where workers, as the stages of a pipeline, do not list the same layouts in the same order."""
    listed = [supported(one) for one in declared]
    if any(one != listed[0] for one in listed[1:]):
        said = "; ".join(", ".join(layout.name for layout in one) for one in listed)
        text = f"pipeline stages support different KV cache layouts: {said}"
        raise Refused("AssertionError", text, function=FUNCTION, kind="workers-disagree")


def resolve(
    declared: Mapping[str, Sequence[str] | None],
    specs: Iterable[LayerSpec],
    requested: str | None,
    unpadded: UnpaddedPage,
    by_sharding: bool,
) -> Layout:
    """The layout for layers of `specs`; `requested` is VLLM_KV_CACHE_LAYOUT.

    `by_sharding`: whether caches that decode context parallelism shards and ones that it does not ask for blocks
    outermost where their pages differ in size, and layers without views are not asked (0.33). Raises Refused.
    """
    candidates, why = supported(declared), _preferred(declared)
    specs = [spec for spec in dict.fromkeys(specs) if spec.has_views or not by_sharding]
    if len({cells(spec, unpadded) for spec in specs}) > 1:
        candidates = [layout for layout in candidates if layout.whole_pages]
        why += ", with whole pages because the layers' pages differ in shape"
        _check(candidates, "pages that differ in shape need a layout that keeps a page together")
    if by_sharding and _sharded_and_not(specs, unpadded):
        candidates = [layout for layout in candidates if layout.block_outermost]
        _check(candidates, "sharded and replicated caches with different page sizes require the blocks outermost")
    if requested is None:
        return Layout(candidates[0].name, why, tuple(candidates))
    wanted = layout_of(requested)
    if wanted not in candidates:
        allowed = " or ".join(x.name for x in candidates)
        text = f"{requested} is requested, but backends and page sizes allow only {allowed}"
        raise Refused("ValueError", text, function=FUNCTION, path=("kv_cache_layout",), kind="layout-not-supported")
    return Layout(wanted.name, "set by the document", tuple(candidates))


def cells(spec: LayerSpec, unpadded: UnpaddedPage) -> tuple[int, int, int]:
    """(head slots, states, bytes) of a page: what has to agree where pages are not kept together."""
    return spec.num_heads, spec.num_states, spec.page(unpadded)


def _sharded_and_not(specs: Sequence[LayerSpec], unpadded: UnpaddedPage) -> bool:
    sharded = {spec.dcp_sharded for spec in specs if spec.is_attention and not spec.rings}
    return len(sharded) > 1 and len({spec.page(unpadded) for spec in specs}) > 1


def _preferred(declared: Mapping[str, Sequence[str] | None]) -> str:
    asking = [name for name, names in declared.items() if names is not None]
    return (
        f"what {' and '.join(asking)} can read"
        if asking
        else "the engine's first choice, because no backend requires one"
    )


def _check(candidates: Sequence[KVCacheLayout], what: str) -> None:
    if not candidates:
        text = f"{what}, and none is on every backend's list"
        raise Refused("ValueError", text, function=FUNCTION, kind="no-common-layout")
