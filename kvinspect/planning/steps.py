"""The planner's steps of each release. What differs between releases is a step of another name, picked here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from kvinspect.document.document import Document, Tensor
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.resolve import Choice
from kvinspect.engine.pages import UnpaddedPage, page_size_bytes
from kvinspect.engine.releases import Release
from kvinspect.engine.specs import LayerSpec, MambaSpec, UniformTypeSpecs
from kvinspect.planning import (
    backing,
    capacity,
    deployment,
    grouping,
    indexed,
    inputs,
    latents,
    log_lines,
    memory,
    packed,
    promote,
    requests,
    uniform,
    unify,
)
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.inputs import Inputs
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
    without_hybrid_manager: Callable[[Specs, Steps], dict[str, LayerSpec]]
    tagged: Callable[[Specs, Deployment], Specs]
    state_slots: Callable[[LayerSpec, Steps], Any]
    layout: Callable[[Inputs, str | None, Steps], Choice | None]
    bytes_per_block: Callable[[Sequence[KVCacheGroup], Deployment, Steps], int]
    tensors: Callable[[Sequence[KVCacheGroup], int, Deployment, Steps], tuple[Tensor, ...]]
    needed_bytes: Callable[[Sequence[KVCacheGroup], Deployment, Steps], int]
    usable: Callable[[Sequence[KVCacheGroup], int, Deployment, Steps], int]
    indexed: Callable[[Specs, Steps], indexed.NamedGroups | None]
    splits_freely: packed.SplitsFreely
    room_for_hidden: Callable[[grouping.LayerGroups, Specs, Steps], grouping.LayerGroups]
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
    "without_hybrid_manager": promote.promoted,
    "tagged": inputs.as_written,
    "state_slots": uniform.by_speculation,
    "layout": backing.no_layout,
    "bytes_per_block": capacity.bytes_of_allocations,
    "tensors": capacity.tensors_of_allocations,
    "needed_bytes": requests.needed_by_group,
    "usable": memory.all_of_it,
    "indexed": indexed.no_rule,
    "splits_freely": packed.states_alone,
    "room_for_hidden": grouping.pages_as_they_are,
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
    "tagged": inputs.with_retained_tokens,
}
_STANDARD = (*_PACKED, "compress_ratio", "dcp_sharded", "block_stride_alignment", "marks")
_0_29 = {
    **_0_28,
    "merging": MergeRules(_STANDARD, _STANDARD, latent_has_v=False),
    "state_slots": uniform.by_page_and_marks,
    "layout": backing.layout_of_backends,
    "bytes_per_block": backing.bytes_by_page,
    "tensors": backing.tensors_by_page,
    "needed_bytes": requests.needed_by_block,
    "usable": memory.without_null_block,
    "enlarge": unify.by_block_or_padding,
    "packs_latents": latents.never,
}
_0_30 = {
    **_0_29,
    "tensors": backing.tensors_with_index,
    "indexed": indexed.states_on_latents,
    "splits_freely": packed.states_and_windows,
    "room_for_hidden": grouping.pages_for_one_token,
    "log_lines": log_lines.line_with_device,
}
_0_33 = {
    **_0_30,
    "indexed": indexed.no_rule,
    "deployment": deployment.of_resident_states,
    "without_hybrid_manager": promote.promoted_by_sharding,
    "layout": backing.layout_of_backends_and_sharding,
    "bytes_per_block": backing.bytes_by_stride,
    "tensors": backing.tensors_by_stride,
}
_STEPS = {
    "0.25": _0_25, "0.26": _0_26, "0.27": _0_27, "0.28": _0_28, "0.29": _0_29, "0.30": _0_30, "0.33": _0_33,
}  # fmt: skip


@cache
def steps_of(release: Release) -> Steps:
    """The planner of a release."""
    return Steps(release=release, **_STEPS[release.name])
