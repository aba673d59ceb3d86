"""What vLLM does in a release between the specs and the blocks: the planner's steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kvinspect.document.model import DocumentModel
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.release import EngineRelease
from kvinspect.planning import grouping, indexed, latents, log_lines, packed, unify
from kvinspect.planning.deployment import Deployment
from kvinspect.specs.kinds import GroupSpec, LayerSpec, Specs
from kvinspect.specs.merging import MergeRules
from kvinspect.specs.uniform_type import UniformTypeSpecs


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class PlannerRelease(EngineRelease):
    """A release as the planner sees it: beside the engine's steps, those between the specs and the blocks."""

    deployment: Callable[[DocumentModel], Deployment]
    merging: MergeRules
    promote: Callable[[Specs, PlannerRelease], dict[str, LayerSpec]]
    fallback: Callable[[Specs, PlannerRelease], UniformTypeSpecs | None]
    without_hybrid_manager: Callable[[Specs, PlannerRelease], dict[str, LayerSpec]]
    tagged: Callable[[Specs, Deployment], Specs]
    state_slots: Callable[..., Any]
    """What states of one type have in common."""
    needed_bytes: Callable[[Sequence[KVCacheGroup], Deployment, PlannerRelease], int]
    usable: Callable[[Sequence[KVCacheGroup], int, Deployment, PlannerRelease], int]
    indexed: Callable[[Specs, PlannerRelease], indexed.NamedGroups | None]
    splits_freely: packed.SplitsFreely
    room_for_hidden: Callable[[grouping.LayerGroups, Specs, PlannerRelease], grouping.LayerGroups]
    packs_latents: Callable[[Specs, PlannerRelease], bool]
    fit_pages: latents.FitPages
    enlarge: unify.Enlarge
    buckets: Callable[[Specs, PlannerRelease], grouping.Buckets]
    hidden_block: grouping.HiddenBlock
    concurrency: Callable[[Sequence[KVCacheGroup], int, Deployment, PlannerRelease], float]
    longest: Callable[[Sequence[KVCacheGroup], int, Deployment], int | None]
    """The longest request that ever runs, None where all do."""
    log_lines: log_lines.LogLines

    def page(self, spec: GroupSpec) -> int:
        """Bytes of a block of a layer. Raises Refused where its padding makes it smaller than its content."""
        return spec.page(self.unpadded)

    def rebuilt(self, spec: LayerSpec, **changes: Any) -> LayerSpec:
        """A spec with fields changed, made as the release's class makes it."""
        return self.aligned_spec(spec._replace(**changes))
