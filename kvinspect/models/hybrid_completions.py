"""What configuration classes of models with states or latent attention work out from other fields.

Facts are those of transformers' configuration classes (5.24) and vLLM's own (0.27).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvinspect.models.config import Fields

Rule = Callable[["Fields"], Any]

FULL, LINEAR = "full_attention", "linear_attention"


def _count(fields: Fields, name: str) -> int | None:
    value = fields.plain(name)
    if value is not None and (type(value) is not int or value < 1):
        fields.fail(name, "a whole number from 1 on", value)
    return value


NEMOTRON_LETTERS = {
    "mamba": "M",
    "linear_attention": "M",
    "attention": "*",
    "full_attention": "*",
    "moe": "E",
    "mlp": "-",
}


def _nemotron_pattern(fields: Fields) -> Any:
    """A letter a layer: from words where there are any, else as written, else four layers of each kind."""
    words = fields.written.get("layers_block_type") or fields.written.get("layer_types")
    if isinstance(words, list):
        return "".join(NEMOTRON_LETTERS.get(word, "?") if isinstance(word, str) else "?" for word in words)
    return fields.written.get("hybrid_override_pattern") or "ME*-"


def _nemotron_layers(fields: Fields) -> Any:
    pattern = _nemotron_pattern(fields)
    return len(pattern) if isinstance(pattern, str) else None


def _nemotron_draft(fields: Fields) -> Any:
    words = fields.written.get("mtp_layers_block_type")
    if isinstance(words, list):
        return "".join(NEMOTRON_LETTERS.get(word, "?") if isinstance(word, str) else "?" for word in words)
    return fields.written.get("mtp_hybrid_override_pattern") or "*E"


def _first_of(*names: str, default: Any = None) -> Rule:
    """The first of several fields that the file has."""
    return lambda fields: next((found for name in names if (found := fields.written.get(name)) is not None), default)


def _intervals(name: str = "full_attention_interval") -> Rule:
    """Full attention every fourth layer, or as often as a field says; linear attention else."""

    def rule(fields: Fields) -> Any:
        written = fields.plain("layer_types")
        if written is not None:
            return written
        period = _count(fields, name) or 4
        return [FULL if (i + 1) % period == 0 else LINEAR for i in range(fields.layers)]

    return rule


def _olmo_hybrid_types(fields: Fields) -> Any:
    kinds = _intervals("")(fields)
    return [*kinds[:-1], FULL] if isinstance(kinds, list) and kinds and FULL not in kinds else kinds


def _olmo_hybrid_key(fields: Fields) -> Any:
    return fields.plain("linear_key_head_dim") or int(0.75 * fields.hidden_size / fields.count("linear_num_key_heads"))


def _olmo_hybrid_value(fields: Fields) -> Any:
    return fields.plain("linear_value_head_dim") or 2 * _olmo_hybrid_key(fields)


def _lfm2_types(fields: Fields) -> Any:
    written = fields.plain("layer_types")
    if written is not None:
        return written
    attending = fields.plain("full_attn_idxs")
    return [FULL if attending is None or i in attending else "conv" for i in range(fields.layers)]


def _state_head(default_inner: Rule | None = None) -> Rule:
    """`mamba_d_head`, `auto` standing for what a head of the mixer gets."""

    def rule(fields: Fields) -> Any:
        written = fields.plain("mamba_d_head")
        if written not in ("auto", None):
            return written
        inner = default_inner(fields) if default_inner else None
        return (inner or fields.count("mamba_expand") * fields.hidden_size) // fields.count("mamba_n_heads")

    return rule


def _inner_size(fields: Fields) -> Any:
    """A Mamba 1 mixer's channels: as written, else what the hidden size expands to."""
    written = fields.written.get("intermediate_size")
    if written is not None:
        return written
    return int(fields.plain("expand") * fields.hidden_size) if _is_number(fields.plain("expand")) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e9


def _longcat_layers(fields: Fields) -> Any:
    """Layers of two attentions each; `num_hidden_layers`, where it is written instead, counts attentions."""
    written, both = fields.written.get("num_layers"), fields.written.get("num_hidden_layers")
    return both // 2 if written is None and type(both) is int else fields.plain("num_layers")


_NEMOTRON_H = {
    "hybrid_override_pattern": _nemotron_pattern,
    "mtp_hybrid_override_pattern": _nemotron_draft,
    "num_hidden_layers": _nemotron_layers,
    "n_groups": _first_of("mamba_n_groups", "n_groups", default=8),
    "conv_kernel": _first_of("mamba_d_conv", "conv_kernel", default=4),
    "expand": _first_of("mamba_expand", "expand", default=2),
    "chunk_size": _first_of("mamba_chunk_size", "chunk_size", default=128),
}
_QWEN35 = {"layer_types": _intervals()}
_MAMBA1 = {"intermediate_size": _inner_size}
_LONGCAT = {"num_hidden_layers": _longcat_layers, "num_layers": _longcat_layers}
HYBRIDS: Mapping[str, Mapping[str, Rule]] = {
    "qwen3_next": {"layer_types": _intervals("")},
    **dict.fromkeys(("qwen3_5_text", "qwen3_5_moe_text"), _QWEN35),
    "olmo_hybrid": {
        "layer_types": _olmo_hybrid_types,
        "linear_key_head_dim": _olmo_hybrid_key,
        "linear_value_head_dim": _olmo_hybrid_value,
    },
    "lfm2": {"layer_types": _lfm2_types},
    **dict.fromkeys(("mamba", "falcon_mamba"), _MAMBA1),
    "granitemoehybrid": {
        "layer_types": lambda fields: fields.plain("layer_types") or [LINEAR] * fields.layers,
        "mamba_d_head": _state_head(),
    },
    "falcon_h1": {"mamba_d_head": _state_head(lambda fields: fields.plain("mamba_d_ssm"))},
    "zamba2": {
        "attention_head_dim": lambda fields: 2 * fields.hidden_size // fields.heads,
        "max_position_embeddings": lambda fields: (
            16384 if fields.plain("use_long_context") else fields.plain("max_position_embeddings")
        ),
    },
    "bailing_hybrid": {"head_dim": lambda fields: fields.plain("qk_rope_head_dim")},
    "nemotron_h": _NEMOTRON_H,
    "longcat_flash": _LONGCAT,
    "longcat_flash_ngram": _LONGCAT,
}
"""Rules of models with states or latent attention."""
