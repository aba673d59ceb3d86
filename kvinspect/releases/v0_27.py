"""vLLM 0.27: what it does otherwise than 0.26."""

from __future__ import annotations

from kvinspect.backends.flash_attention import FlashAttentionRules
from kvinspect.engine import across_layers, placement, reshape
from kvinspect.planning import as_full_attention, capacity, grouping, latent_windows
from kvinspect.releases import v0_26
from kvinspect.releases.release import older_runner
from kvinspect.specs.needs import MergeRules

_BEFORE = v0_26.RELEASE

RELEASE = _BEFORE.but(
    version="0.27.1",
    packed_placement=placement.packed_densely,
    reshape=_BEFORE.reshape._replace(state_parts=reshape.view_of_pages, cache_dtype_of=reshape.quantised_only),
    hybrid_step=False,
    graphs=_BEFORE.graphs._replace(encoder_groups_narrow=True),
    merging=MergeRules(_BEFORE.merging.compared, _BEFORE.merging.compared, latent_has_v=True),
    as_full_attention=as_full_attention.to_one_block,
    fallback=as_full_attention.all_as_full,
    fit_pages=latent_windows.as_they_are,
    buckets=grouping.by_merging,
    concurrency=capacity.concurrency_by_blocks,
    models=_BEFORE.models._replace(
        ranks_offload_together=True,
        latent_alignment=128,
        text_alone_is_causal=True,
        colqwen_declares=True,
        kimi_latent="",
        kimi_counts_ahead=True,
        window_knows_packing=True,
        window_of_equal_layers=False,
        flash_attention=FlashAttentionRules(quantized=((3, 9), (4, 10)), version_by_head=True, large_head=256),
        exaone_moe_windows=("sliding_windows",),
        exaone_moe_draft="mtp_",
    ),
)

OLDER_RUNNER = older_runner(RELEASE, across_layers.without_inline_scales)
