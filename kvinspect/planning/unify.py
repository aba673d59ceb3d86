"""One page size for all layers: `unify_kv_cache_spec_page_size`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec, Specs

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease


def unified(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """The specs with the largest page for all. Raises Refused (NotImplementedError) where a page cannot grow."""
    pages = {layer: release.page(spec) for layer, spec in specs.items()}
    largest = max(pages.values(), default=0)
    return {
        layer: spec
        if pages[layer] == largest
        else _checked(release.enlarge(layer, spec, largest, release), largest, release)
        for layer, spec in specs.items()
    }


def _checked(spec: LayerSpec, page: int, release: PlannerRelease) -> LayerSpec:
    if release.page(spec) != page:
        text = f"a page of {counted(release.page(spec), 'byte')} does not become one of {page}"
        raise Refused("AssertionError", text, function="unify_kv_cache_spec_page_size")
    return spec


def _divisor(layer: str, spec: LayerSpec, release: PlannerRelease) -> int:
    """Bytes of a layer's page, by which the largest is divided. Raises Refused where the page is empty."""
    own = release.page(spec)
    if own == 0:
        text = f"the page of {layer} has 0 bytes, and the largest page is divided by it"
        raise Refused("ZeroDivisionError", text, function="unify_kv_cache_spec_page_size", kind="pages-differ")
    return own


@vllm("unify_kv_cache_spec_page_size", until="0.25")
def by_block_or_stride(layer: str, spec: LayerSpec, page: int, release: PlannerRelease) -> LayerSpec:
    """0.25: a larger block where it comes out even, else padding where the backend reads by the block's stride."""
    own = _divisor(layer, spec, release)
    if page % own == 0:
        return release.rebuilt(spec, block_size=spec.block_size * (page // own))
    if spec.holds_states or not spec.indexes_kv_by_block_stride:
        text = (
            f"the page of {layer} has {counted(own, 'byte')}, which do not divide the largest page of {page}, "
            "and its backend does not read padded pages"
        )
        raise Refused("NotImplementedError", text, function="unify_kv_cache_spec_page_size", kind="pages-differ")
    return release.rebuilt(spec, page_size_padded=page)


@vllm("unify_kv_cache_spec_page_size", since="0.29")
def by_block_or_padding(layer: str, spec: LayerSpec, page: int, release: PlannerRelease) -> LayerSpec:
    """From 0.29 on: pages are padded where larger blocks do not come out even, but not those of latents."""
    if spec.holds_states:
        return release.rebuilt(spec, page_size_padded=page)
    own = _divisor(layer, spec, release)
    if page % own == 0:
        return release.rebuilt(spec, block_size=spec.block_size * (page // own))
    if not spec.pads_freely:
        what = "latent" if spec.latent else "raw"
        text = f"the {what} page of {layer} has {counted(own, 'byte')}, which do not divide the largest page of {page}"
        raise Refused("NotImplementedError", text, function="unify_kv_cache_spec_page_size", kind="pages-differ")
    return release.rebuilt(spec, page_size_padded=page)


@vllm("unify_kv_cache_spec_page_size", since="0.26", until="0.28")
def states_by_padding(layer: str, spec: LayerSpec, page: int, release: PlannerRelease) -> LayerSpec:
    """From 0.26 on: pages of states are padded, since more tokens do not make them larger."""
    if spec.holds_states:
        return release.rebuilt(spec, page_size_padded=page)
    return by_block_or_stride(layer, spec, page, release)
