"""vLLM 0.33: what it does otherwise than 0.30."""

from __future__ import annotations

from kvinspect.cudagraph import capture
from kvinspect.cudagraph import start_up as configured
from kvinspect.engine import customize_spec, one_buffer
from kvinspect.engine.layout import placement
from kvinspect.mm_prefix import ranges
from kvinspect.planning import as_full_attention, deployment, index_groups
from kvinspect.releases import v0_30

_BEFORE = v0_30.RELEASE

RELEASE = _BEFORE.but(
    version="0.33.0",
    graphs=_BEFORE.graphs._replace(
        decode_sizes=capture.decodes_of_all,
        start_up=(*_BEFORE.graphs.start_up, configured.nothing_stock_compiled),
    ),
    customized_spec=customize_spec.customized_splittable,
    mm_spans=ranges.spans_of_model,
    layout=one_buffer.layout_with_sharding,
    place=placement.place_by_stride,
    bytes_per_block=placement.bytes_by_stride,
    kernel_blocks=one_buffer.kernel_block_sizes_of_dense,
    latent_index=index_groups.no_rule,
    deployment=deployment.of_resident_states,
    without_hybrid_manager=as_full_attention.promoted_by_sharding,
    models=_BEFORE.models._replace(
        newer_always_overlaps=True,
        older_overlaps_in_stages=False,
        dspark_drafts_a_block=True,
        drafts_limit_the_context=True,
        vocabularies_need_logits=True,
        lengths_by_runner=True,
        drafts_with_a_cache_dtype=(*_BEFORE.models.drafts_with_a_cache_dtype, "draft_model"),
        marks_drafts=True,
        xpu_graphs_are_asked_for=False,
        eager_skips_jit_warmup=True,
        flash_attention=_BEFORE.models.flash_attention._replace(shares_prefix=(3, 4), block_of_large_fp8=64),
        block_of_all_backends=True,
        gemma4_by_layer=True,
        names_of_modules=True,
        states_checkpoint=True,
        weigh_ahead=("FalconH1ForCausalLM", "GraniteMoeHybridForCausalLM", "Zamba2ForCausalLM"),
        intervals_of_qwen3_next=True,
        sampler_copies=4.0,
        small_capabilities=("12.1",),
        exaone_moe_windows=("sliding_windows", "sliding_window"),
    ),
)
