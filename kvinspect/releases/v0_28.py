"""vLLM 0.28: what it does otherwise than 0.27."""

from __future__ import annotations

from kvinspect.cudagraph import capture
from kvinspect.engine import across_layers, customize_spec
from kvinspect.planning import as_full_attention, grouping, inputs, log_lines
from kvinspect.releases import v0_27
from kvinspect.releases.release import older_runner
from kvinspect.specs import page_size
from kvinspect.specs.needs import MergeRules

_BEFORE = v0_27.RELEASE
_COMPARED = (*_BEFORE.merging.compared, "head_size_v", "num_head_slots", "state_content_bytes")

RELEASE = _BEFORE.but(
    version="0.28.0",
    aligned_spec=page_size.aligned_by_slots,
    customized_spec=customize_spec.customized,
    reshape=_BEFORE.reshape._replace(unpadded_page=page_size.page_by_slots),
    page_aligned_step=True,
    graphs=_BEFORE.graphs._replace(capture_limit=capture.limit_by_device),
    merging=MergeRules(_COMPARED, _COMPARED, latent_has_v=False),
    as_full_attention=as_full_attention.keeping_fields,
    hidden_block=grouping.dividing_the_others,
    log_lines=log_lines.one_line,
    tagged=inputs.with_retained_tokens,
    models=_BEFORE.models._replace(
        dspark_fills_its_block=False,
        inkling_drafts_one=False,
        adapts_with_dspark_alone=True,
        names_rows=True,
        turboquant_has_a_spec=False,
        hybrids_cache_prefixes=True,
        sampler_copies=2.5,
        server_sizes=((160, 16384), (70, 8192)),
        states_cache_all=False,
        short_conv="short_conv",
        drafts_like_their_target=(*_BEFORE.models.drafts_like_their_target, "dspark"),
        drafts_are_causal_by=("is_causal", *_BEFORE.models.drafts_are_causal_by),
        drafts_overlap=(*_BEFORE.models.drafts_overlap, "draft_model"),
    ),
)

OLDER_RUNNER = older_runner(RELEASE, across_layers.without_inline_scales)
