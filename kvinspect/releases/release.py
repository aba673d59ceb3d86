"""A vLLM release: what all of its modules are an instance of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kvinspect.cudagraph import capture
from kvinspect.cudagraph.rules import GraphRules
from kvinspect.engine import blocks_first, reshape
from kvinspect.mm_prefix.ranges import SpansOf
from kvinspect.planning.release import PlannerRelease
from kvinspect.releases.model_rules import ModelRules
from kvinspect.specs.attention import AttentionSpec


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Release(PlannerRelease):
    """A vLLM release with one of its model runners: the engine's steps, the planner's, and the rules
    for CUDA graphs, multimodal prefixes and models.
    """

    graphs: GraphRules
    mm_spans: SpansOf
    """The spans of a request's image and video tokens."""
    models: ModelRules

    def but(self, **changes: Any) -> Release:
        """The same release with other fields. Raises TypeError for a name that is none."""
        return replace(self, **changes)


def older_runner(release: Release, across: Callable[[AttentionSpec], bool]) -> Release:
    """A release with the steps of its older model runner, `vllm/v1/worker/gpu_model_runner.py`."""
    views = release.reshape._replace(
        cache_dtype_of=reshape.quantised_by_spec,
        kernel_blocks=reshape.blocks_of_tokens,
        has_views=reshape.all_but_one_group,
        across_layers=across,
        shares_at="allocate",
    )
    return release.but(
        runner="v1",
        hybrid_step=False,
        page_aligned_step=False,
        encoder_only_last=True,
        model_step=blocks_first.everywhere,
        graphs=release.graphs._replace(encoder_groups_narrow=True, captured=capture.captured_in_multiples),
        reshape=views,
    )
