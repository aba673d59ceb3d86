"""vLLM 0.30: what it does otherwise than 0.29."""

from __future__ import annotations

from kvinspect.cudagraph import start_up as configured
from kvinspect.engine.layout import latent_index
from kvinspect.planning import deployment, grouping, index_groups, log_lines, packed
from kvinspect.releases import v0_29

_BEFORE = v0_29.RELEASE

RELEASE = _BEFORE.but(
    version="0.30.0",
    graphs=_BEFORE.graphs._replace(start_up=(configured.decodes_uncompiled, *_BEFORE.graphs.start_up[1:])),
    place=latent_index.place_with_index,
    deployment=deployment.of_resident_pages,
    latent_index=index_groups.states_on_latents,
    splits_freely=packed.states_and_windows,
    room_for_hidden=grouping.pages_for_one_token,
    log_lines=log_lines.line_with_device,
    models=_BEFORE.models._replace(
        adapts_with_dspark_alone=False,
        drafts_with_a_backend=("dflash", "dspark", "eagle", "eagle3", "mtp"),
        yarn_scales=False,
        window_fills_the_page=True,
        transformers_attend=True,
        deepseek_v4_is_fp8=True,
    ),
)
