"""Which release makes specs how; no other module of this room asks for a version."""

from __future__ import annotations

from kvinspect.models.rules import Rules

_0_27 = Rules()
_0_25 = _0_27._replace(
    latent_alignment=1,
    kimi_latent=".attn",
    kimi_counts_ahead=False,
    window_knows_packing=False,
    window_of_equal_layers=True,
    quantised_by_flash_attention=((3, 9),),
    version_by_head=False,
    large_head_of_flash_attention_4=192,
    exaone_moe_windows=("sliding_window",),
)
_0_28 = _0_27._replace(
    hybrids_cache_prefixes=True,
    server_sizes=((160, 16384), (70, 8192)),
    states_cache_all=False,
    short_conv="short_conv",
)
_0_29 = _0_28._replace(
    short_conv_counts_ahead=True,
    cohere_window_counts_itself=True,
    prefix_by_flash_attention=(4,),
    flash_kda_leaves_states=True,
)
_0_30 = _0_29._replace(yarn_scales=False, window_fills_the_page=True, deepseek_v4_is_fp8=True)
_0_33 = _0_30._replace(
    prefix_by_flash_attention=(3, 4),
    block_of_all_backends=True,
    block_of_large_fp8_heads=64,
    gemma4_by_layer=True,
    names_of_modules=True,
    states_checkpoint=True,
    intervals_of_qwen3_next=True,
    exaone_moe_windows=("sliding_windows", "sliding_window"),
)
_RULES = {
    "0.25": _0_25._replace(latent_is_quantised=False),
    "0.26": _0_25,
    "0.27": _0_27,
    "0.28": _0_28,
    "0.29": _0_29,
    "0.30": _0_30,
    "0.33": _0_33,
}


def rules(release: str) -> Rules:
    """The rules of a release by its major and minor number. Raises KeyError for one that is not there."""
    return _RULES[release]
