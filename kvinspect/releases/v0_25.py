"""vLLM 0.25: the oldest release; the others say what they do otherwise than the one before."""

from __future__ import annotations

from kvinspect.backends.backend import Backend
from kvinspect.backends.flash_attention import FlashAttentionRules
from kvinspect.cudagraph import capture
from kvinspect.cudagraph import start_up as configured
from kvinspect.cudagraph.rules import GraphRules
from kvinspect.engine import across_layers, per_tensor, per_tensor_soundness, placement, reshape
from kvinspect.engine.wording import steps
from kvinspect.mm_prefix import ranges
from kvinspect.planning import (
    as_full_attention,
    capacity,
    deployment,
    grouping,
    index_groups,
    inputs,
    latent_windows,
    log_lines,
    memory,
    packed,
    requests,
    unify,
)
from kvinspect.provenance import vllm
from kvinspect.releases.model_rules import ModelRules
from kvinspect.releases.release import Release, older_runner
from kvinspect.specs import mamba, page_size
from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.needs import MergeRules


@vllm("get_kv_cache_spec", until="0.27")
def _as_written(spec: LayerSpec, backend: Backend) -> LayerSpec:
    """Backends do not touch specs before 0.28."""
    return spec


RELEASE = Release(
    version="0.25.1",
    # The layout, the alignment and the views of a given cache.
    aligned_spec=page_size.aligned_by_kind,
    customized_spec=_as_written,
    packed_placement=placement.packed_by_page_size,
    reshape=reshape.ReshapeRules(
        unpadded_page=page_size.page_by_kind,
        state_parts=reshape.views_by_state,
        cache_dtype_of=reshape.quantised_or_turboquant,
        packed_shape=reshape.packed_as_shaped,
        kernel_blocks=reshape.blocks_of_states,
        has_views=reshape.sized_groups,
    ),
    hybrid_step=True,
    page_aligned_step=False,
    # The stages, each made of the ones before it.
    one_buffer=False,
    layout=per_tensor.layout,
    place=placement.place_per_tensor,
    bytes_per_block=placement.bytes_per_tensor,
    tensors=per_tensor.tensors,
    kernel_blocks=per_tensor.kernel_block_sizes,
    views=per_tensor.views,
    soundness=per_tensor_soundness.per_tensor,
    reasons=steps.per_tensor,
    # CUDA graphs, and who sees whom in a prompt with images.
    graphs=GraphRules(
        encoder_groups_narrow=False,
        capture_limit=capture.limit_of_all,
        decode_sizes=capture.no_decodes,
        start_up=(configured.nothing_uncompiled, configured.decodes_of_encoder_decoder, configured.nothing_on_cpu),
    ),
    mm_spans=ranges.spans_of,
    # From specs to groups, tensors and blocks.
    deployment=deployment.of_settled_batches,
    merging=MergeRules(
        (
            "block_size",
            "num_kv_heads",
            "head_size",
            "dtype",
            "kv_quant_mode",
            "page_size_padded",
            "indexes_kv_by_block_stride",
        ),
        (),
        latent_has_v=True,
    ),
    as_full_attention=as_full_attention.keeping_blocks,
    fallback=as_full_attention.no_fallback,
    without_hybrid_manager=as_full_attention.promoted,
    tagged=inputs.as_written,
    state_slots=mamba.by_speculation,
    needed_bytes=requests.needed_by_group,
    usable=memory.all_of_it,
    latent_index=index_groups.no_rule,
    splits_freely=packed.states_alone,
    room_for_hidden=grouping.pages_as_they_are,
    packs_latents=latent_windows.always,
    fit_pages=latent_windows.padded_to_full,
    enlarge=unify.by_block_or_stride,
    buckets=grouping.by_spec,
    hidden_block=grouping.as_many_as_fit,
    concurrency=capacity.concurrency_by_memory,
    longest=capacity.beside_the_null_block,
    log_lines=log_lines.two_lines,
    # From a model's configuration to specs.
    models=ModelRules(
        dots_make_a_class=True,
        dspark_of_qwen3=False,
        lengths_need_one_rank=False,
        xpu_graphs_are_asked_for=True,
        drafts_with_a_backend=("dflash", "dspark"),
        drafts_are_causal_by=("dflash_config",),
        text_alone_is_causal=False,
        colqwen_declares=False,
        latent_alignment=1,
        latent_is_quantised=False,
        turboquant_has_a_spec=True,
        kimi_latent=".attn",
        kimi_counts_ahead=False,
        window_knows_packing=False,
        window_of_equal_layers=True,
        flash_attention=FlashAttentionRules(quantized=((3, 9),), version_by_head=False, large_head=192),
        exaone_moe_windows=("sliding_window",),
        exaone_moe_draft="",
    ),
)

OLDER_RUNNER = older_runner(RELEASE, across_layers.by_block_stride)
