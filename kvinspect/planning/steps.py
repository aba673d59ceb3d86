"""The planner's steps of each release. What differs between releases is a step of another name, picked here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kvinspect.document.document import Document
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.pages import UnpaddedPage, page_size_bytes
from kvinspect.engine.releases import Release
from kvinspect.engine.specs import LayerSpec, MambaSpec, UniformTypeSpecs
from kvinspect.planning import capacity, deployment, grouping, latents, log_lines, promote, unify
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.merge import MergeRules
from kvinspect.planning.uniform import Specs


@dataclass(frozen=True, eq=False)
class Steps:
    """What a release does between the specs and the blocks."""

    release: Release
    deployment: Callable[[Document], Deployment]
    merging: MergeRules
    promote: Callable[[Specs, Steps], dict[str, LayerSpec]]
    fallback: Callable[[Specs, Steps], UniformTypeSpecs | None]
    packs_latents: Callable[[Specs, Steps], bool]
    fit_pages: latents.FitPages
    enlarge: unify.Enlarge
    buckets: Callable[[Specs, Steps], grouping.Buckets]
    hidden_block: grouping.HiddenBlock
    concurrency: Callable[[Sequence[KVCacheGroup], int, Deployment, Steps], float]
    log_lines: log_lines.LogLines

    @property
    def unpadded(self) -> UnpaddedPage:
        """Bytes of an attention layer's page without padding."""
        return self.release.reshape.unpadded_page

    def page(self, spec: LayerSpec) -> int:
        """Bytes of a layer's page. Raises Refused where its padding makes it smaller than its content."""
        return page_size_bytes(spec, self.unpadded)

    def rebuilt(self, spec: LayerSpec, **changes: Any) -> LayerSpec:
        """A spec with fields changed, made as the release's class makes it."""
        changed = spec._replace(**changes)
        return changed if isinstance(changed, MambaSpec) else self.release.aligned_spec(changed)


_ATTENTION = ("block_size", "num_kv_heads", "head_size", "dtype", "kv_quant_mode", "page_size_padded")
_0_25: dict[str, Any] = {
    "deployment": deployment.of_settled_batches,
    "merging": MergeRules((*_ATTENTION, "indexes_kv_by_block_stride"), (), latent_has_v=True),
    "promote": promote.keeping_blocks,
    "fallback": promote.no_fallback,
    "packs_latents": latents.always,
    "fit_pages": latents.padded_to_full,
    "enlarge": unify.by_block_or_stride,
    "buckets": grouping.by_spec,
    "hidden_block": grouping.as_many_as_fit,
    "concurrency": capacity.concurrency_by_memory,
    "log_lines": log_lines.two_lines,
}
_0_26 = {
    **_0_25,
    "deployment": deployment.of_batches_in_flight,
    "packs_latents": latents.where_pages_differ,
    "enlarge": unify.states_by_padding,
}
_0_27 = {
    **_0_26,
    "merging": MergeRules(_0_25["merging"].compared, _0_25["merging"].compared, latent_has_v=True),
    "promote": promote.to_one_block,
    "fallback": promote.all_as_full,
    "fit_pages": latents.as_they_are,
    "buckets": grouping.by_merging,
    "concurrency": capacity.concurrency_by_blocks,
}
_PACKED = (*_0_27["merging"].compared, "head_size_v", "num_head_slots", "state_content_bytes")
_0_28 = {
    **_0_27,
    "merging": MergeRules(_PACKED, _PACKED, latent_has_v=False),
    "promote": promote.keeping_fields,
    "hidden_block": grouping.dividing_the_others,
    "log_lines": log_lines.one_line,
}
_STEPS = {"0.25": _0_25, "0.26": _0_26, "0.27": _0_27, "0.28": _0_28}


@cache
def steps_of(release: Release) -> Steps:
    """The planner of a release."""
    return Steps(release=release, **_STEPS[release.name])
