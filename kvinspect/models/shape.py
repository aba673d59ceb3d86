"""A model in a few numbers, as the engine's settings see it before any layer is made (`ModelArchitectureConfig`)."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from kvinspect.models.config import Model
from kvinspect.models.fields import Fields

LENGTH_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "model_max_length",
               "max_target_positions", "max_sequence_length", "max_seq_length", "seq_len")  # fmt: skip
"""Fields that may name the longest context, of which the smallest counts."""

LATENT_TYPES = frozenset({
    "axk1", "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4", "deepseek_mtp", "k3_dspark", "glm_moe_dsa",
    "glm4_moe_lite", "glm4_moe_lite_mtp", "hy_v4", "kimi_k2", "kimi_linear", "longcat_flash", "longcat_flash_ngram",
    "pangu_ultra_moe", "pangu_ultra_moe_mtp", "bailing_hybrid", "bailing_hybrid_mtp",
})  # fmt: skip
"""Model types whose attention is MLA where they have a latent size (`is_deepseek_mla`)."""

MM_PREFIX_TYPES = frozenset({"bagel", "gemma3", "molmo2", "moondream3", "paligemma", "umm"})
"""Model types whose image tokens attend bidirectionally (`is_mm_prefix_lm`)."""

GEMMA4_TYPES = frozenset({"gemma4", "gemma4_text", "gemma4_unified", "gemma4_unified_text", "diffusion_gemma_text"})
NO_HEADS = frozenset({"mamba", "falcon_mamba", "medusa", "timm_wrapper"})
WITHOUT_CHUNKS = frozenset({"mimo_v2", "mimo_v2_flash", "mimo_v2_mtp", "mimo_v2_omni_mtp"})


class Shape(NamedTuple):
    """`kv_heads` and `head_size` are of the model as a whole; a layer may differ."""

    heads: int
    kv_heads: int
    head_size: int
    is_mla: bool
    is_mm_prefix: bool
    attention_chunk_size: int | None
    max_len: float
    max_len_key: str
    largest_item: int = 0
    """Tokens of the largest image or video whose tokens attend bidirectionally, so that a batch must hold it whole."""


def shape_of(model: Model, may_see: bool = True) -> Shape:
    """The numbers of a model. `may_see` is whether images and the like may come in at all."""
    text, config = model.text, model.config
    kind = config.model_type
    mla = is_latent(text)
    heads = text.count("num_attention_heads", 0, least=0)
    max_len, key = _max_len(text)
    prefix = may_see and _is_mm_prefix(config, text)
    chunk = None if kind in WITHOUT_CHUNKS else text.maybe_tokens("attention_chunk_size")
    return Shape(
        heads=heads,
        kv_heads=0 if kind in NO_HEADS else _KV_HEADS.get(kind, _kv_heads)(text),
        head_size=0 if kind in NO_HEADS else _latent_size(text) if mla else _HEAD_SIZES.get(kind, _head_size)(text),
        is_mla=mla,
        is_mm_prefix=prefix,
        attention_chunk_size=chunk,
        max_len=max_len,
        max_len_key=key,
        largest_item=_largest_item(config) if prefix else 0,
    )


def is_latent(text: Fields) -> bool:
    """Whether attention is MLA (`is_deepseek_mla`)."""
    if text.model_type not in LATENT_TYPES:
        return False
    return "head_dim" in text if "compress_ratios" in text else "kv_lora_rank" in text


def _latent_size(text: Fields) -> int:
    if "compress_ratios" in text:
        return text.count("head_dim")
    return text.count("kv_lora_rank") + text.count("qk_rope_head_dim", 0, least=0)


def _head_size(text: Fields) -> int:
    if found := text.maybe_count("head_dim", least=0):
        return found
    if "hidden_size_per_head" in text:
        return text.count("hidden_size_per_head")
    described = "hidden_size" in text and text.count("num_attention_heads", 0, least=0)
    return text.shared_out() if described else 0


def _gemma4_head_size(text: Fields) -> int:
    return max(text.count("head_dim", 0, least=0), text.count("global_head_dim", 0, least=0)) or _head_size(text)


def _kv_heads(text: Fields) -> int:
    names = ("n_head_kv", "num_kv_heads", "num_key_value_heads", "multi_query_group_num", "num_attention_groups")
    return text.first_count(*names) or text.count("num_attention_heads", 0, least=0)


def _falcon_kv_heads(text: Fields) -> int:
    multi_query = text.flag("multi_query") and not text.flag("new_decoder_architecture")
    return 1 if multi_query else _kv_heads(text)


def _nested_kv_heads(text: Fields) -> int:
    """The KV heads of MPT and DBRX, under `attn_config`."""
    return text.mapping("attn_config").maybe_count("kv_n_heads") or text.heads


_KV_HEADS: Mapping[str, Callable[[Fields], int]] = {
    "falcon": _falcon_kv_heads,
    "RefinedWeb": _falcon_kv_heads,
    "RefinedWebModel": _falcon_kv_heads,
    "mpt": _nested_kv_heads,
    "dbrx": _nested_kv_heads,
}
_HEAD_SIZES: Mapping[str, Callable[[Fields], int]] = {
    **dict.fromkeys(GEMMA4_TYPES, _gemma4_head_size),
    "zamba2": lambda text: text.count("attention_head_dim", 0, least=0),
}
"""Model types whose numbers stand elsewhere (`MODEL_ARCH_CONFIG_CONVERTORS`)."""


def _is_mm_prefix(config: Fields, text: Fields) -> bool:
    if config.model_type in GEMMA4_TYPES:
        return text.is_word("use_bidirectional_attention", "vision")
    if "is_mm_prefix_lm" in config:
        return config.flag("is_mm_prefix_lm")
    return config.model_type in MM_PREFIX_TYPES


def sees_images(config: Fields, forbidden: Container[str]) -> bool:
    """Whether a model that takes images and the like may get any, some of their kinds being `forbidden`."""
    kinds = ["image"]
    if config.model_type in (*GEMMA4_TYPES, "molmo2"):
        kinds.append("video")
    if config.model_type in GEMMA4_TYPES and config.part("audio_config") is not None:
        kinds.append("audio")
    return any(kind not in forbidden for kind in kinds)


GEMMA4_VIDEO = 32 * (70 + 8)
"""Tokens of Gemma 4's longest video: so many frames, each with its soft tokens and what stands between them."""


def _largest_item(config: Fields) -> int:
    """Tokens (`get_mm_max_tokens_per_item`); 0 for models that do not say."""
    if config.model_type in GEMMA4_TYPES:
        return GEMMA4_VIDEO
    return config.count("vit_max_num_patch_per_side", 70) ** 2 if config.model_type == "bagel" else 0


def _max_len(text: Fields) -> tuple[float, str]:
    """The longest context that the file names, in tokens, and the field that does (`derive_max_model_len_and_key`)."""
    found, key = float("inf"), ""
    for name in LENGTH_KEYS:
        if name in text:
            length = text.tokens(name)
            found, key = (length, name) if length < found else (found, key)
    if own := text.maybe_tokens("model_max_length", least=0):
        return own, "model_max_length"
    return found, key
