"""vLLM 0.29: what it does otherwise than 0.28. One backing allocation holds the whole cache, for both model runners."""

from __future__ import annotations

from kvinspect.cudagraph import capture
from kvinspect.engine import one_buffer
from kvinspect.engine.layout import placement, soundness
from kvinspect.planning import capacity, latent_windows, memory, requests, unify
from kvinspect.releases import v0_28
from kvinspect.specs import mamba
from kvinspect.specs.needs import MergeRules

_BEFORE = v0_28.RELEASE
_COMPARED = (*_BEFORE.merging.compared, "compress_ratio", "dcp_sharded", "block_stride_alignment", "marks")

RELEASE = _BEFORE.but(
    version="0.29.0",
    page_aligned_step=False,
    one_buffer=True,
    layout=one_buffer.layout,
    place=placement.place_by_page,
    bytes_per_block=placement.bytes_by_page,
    tensors=one_buffer.tensors,
    views=one_buffer.views,
    soundness=soundness.soundness_of,
    reasons=one_buffer.reasons,
    graphs=_BEFORE.graphs._replace(decode_sizes=capture.decodes_of_several_tokens),
    merging=MergeRules(_COMPARED, _COMPARED, latent_has_v=False),
    state_slots=mamba.by_page_and_marks,
    needed_bytes=requests.needed_by_block,
    usable=memory.without_null_block,
    longest=capacity.all_run,
    enlarge=unify.by_block_or_padding,
    packs_latents=latent_windows.never,
    models=_BEFORE.models._replace(
        dspark_of_qwen3=True,
        drafts_like_their_target=_BEFORE.models.drafts_like_their_target[:-1],
        states_hash_by_mode=True,
        short_conv_counts_ahead=True,
        cohere_window_counts_itself=True,
        flash_attention=_BEFORE.models.flash_attention._replace(shares_prefix=(4,)),
        flash_kda_leaves_states=True,
    ),
)
