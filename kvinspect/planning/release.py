"""What vLLM does in a release between the specs and the blocks: the planner's steps, and what each of them takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from kvinspect.document.model import DocumentModel
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.release import EngineRelease
from kvinspect.planning.bucket import Bucket
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.log_lines import LogLines
from kvinspect.specs.kinds import GroupSpec, LayerSpec, Specs
from kvinspect.specs.needs import MergeRules
from kvinspect.specs.uniform_type import UniformTypeSpecs

Buckets = list[list[str]]
"""Layers that may be in one group."""
LayerGroups = list[tuple[list[str], LayerSpec]]
"""(layers, their one spec) of each group."""
NamedGroups = list[tuple[list[str], GroupSpec]]
"""(layers, the group's spec) of each group."""
HiddenBlock = Callable[[int, int], int]
"""(tokens of hidden states that fit a page, greatest common divisor of the other blocks) → tokens in a block."""
SplitsFreely = Callable[[Bucket, int | None], bool]
"""(a bucket, repeats of a group or None) → whether it may be split down to one layer a group."""
FitPages = Callable[[UniformTypeSpecs, UniformTypeSpecs, "PlannerRelease"], UniformTypeSpecs]
"""(layers with a window, layers without, release) → the former with the pages that they are planned with."""
Enlarge = Callable[[str, LayerSpec, int, "PlannerRelease"], LayerSpec]
"""(layer, its spec, bytes of the page wanted, release) → the spec with that page. Raises Refused."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True, init=False, repr=False)
class PlannerRelease(EngineRelease):
    """A release as the planner sees it: beside the engine's steps, those between the specs and the blocks."""

    deployment: Callable[[DocumentModel], Deployment]
    merging: MergeRules
    as_full_attention: Callable[[Specs, PlannerRelease], dict[str, LayerSpec]]
    fallback: Callable[[Specs, PlannerRelease], UniformTypeSpecs | None]
    without_hybrid_manager: Callable[[Specs, PlannerRelease], dict[str, LayerSpec]]
    tagged: Callable[[Specs, Deployment], Specs]
    state_slots: Callable[..., Any]
    """What states of one type have in common."""
    needed_bytes: Callable[[Sequence[KVCacheGroup], Deployment, PlannerRelease], int]
    usable: Callable[[Sequence[KVCacheGroup], int, Deployment, PlannerRelease], int]
    latent_index: Callable[[Specs, PlannerRelease], NamedGroups | None]
    splits_freely: SplitsFreely
    room_for_hidden: Callable[[LayerGroups, Specs, PlannerRelease], LayerGroups]
    packs_latents: Callable[[Specs, PlannerRelease], bool]
    fit_pages: FitPages
    enlarge: Enlarge
    buckets: Callable[[Specs, PlannerRelease], Buckets]
    hidden_block: HiddenBlock
    concurrency: Callable[[Sequence[KVCacheGroup], int, Deployment, PlannerRelease], float]
    longest: Callable[[Sequence[KVCacheGroup], int, Deployment], int | None]
    """The longest request that ever runs, None where all do."""
    log_lines: LogLines

    def page(self, spec: GroupSpec) -> int:
        """Bytes of a block of a layer. Raises Refused where its padding makes it smaller than its content."""
        return spec.page(self.unpadded)

    def rebuilt(self, spec: LayerSpec, **changes: Any) -> LayerSpec:
        """A spec with fields changed, made as the release's class makes it."""
        return self.aligned_spec(spec._replace(**changes))
