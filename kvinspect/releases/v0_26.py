"""vLLM 0.26: what it does otherwise than 0.25."""

from __future__ import annotations

from kvinspect.engine import across_layers, reshape
from kvinspect.planning import deployment, latent_windows, unify
from kvinspect.releases import v0_25
from kvinspect.releases.release import older_runner

_BEFORE = v0_25.RELEASE

RELEASE = _BEFORE.but(
    version="0.26.0",
    reshape=_BEFORE.reshape._replace(packed_shape=reshape.packed_as_stored),
    deployment=deployment.of_batches_in_flight,
    packs_latents=latent_windows.where_pages_differ,
    enlarge=unify.states_by_padding,
    models=_BEFORE.models._replace(
        dots_make_a_class=False,
        lengths_need_one_rank=True,
        dspark_fills_its_block=True,
        inkling_drafts_one=True,
        latent_is_quantised=True,
        draft_keys_take_dashes=True,
        drafts_are_causal_by=("dflash_config", "layer_types"),
    ),
)

OLDER_RUNNER = older_runner(RELEASE, across_layers.by_block_stride)
