"""What configuration classes of models with states or latent attention work out from other fields.

Facts are those of transformers' configuration classes (5.24) and vLLM's own (0.27).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvinspect.models.readers import Readers

Rule = Callable[["Readers"], Any]

FULL, LINEAR = "full_attention", "linear_attention"


NEMOTRON_LETTERS = {
    "mamba": "M",
    "linear_attention": "M",
    "attention": "*",
    "full_attention": "*",
    "moe": "E",
    "mlp": "-",
}


def _lettered(words: Sequence[str]) -> str:
    return "".join(NEMOTRON_LETTERS.get(word, "?") for word in words)


def _nemotron_pattern(fields: Readers) -> str:
    """A letter a layer: from words where there are any, else as written, else four layers of each kind."""
    words = fields.in_file.words("layers_block_type") or fields.in_file.words("layer_types")
    return _lettered(words) or fields.in_file.word("hybrid_override_pattern") or "ME*-"


def _nemotron_draft(fields: Readers) -> str:
    words = fields.in_file.words("mtp_layers_block_type")
    return _lettered(words) or fields.in_file.word("mtp_hybrid_override_pattern") or "*E"


def _first_of(*names: str, default: int) -> Rule:
    """The first of several fields that the file has."""
    return lambda fields: fields.in_file.first_count(*names) or default


def _intervals(name: str | None = "full_attention_interval") -> Rule:
    """Full attention every fourth layer, or as often as a field says; linear attention else."""

    def rule(fields: Readers) -> Sequence[str]:
        """The kind of each layer."""
        if "layer_types" in fields:
            return fields.words("layer_types")
        period = fields.count(name, 4) if name else 4
        return [FULL if (i + 1) % period == 0 else LINEAR for i in range(fields.layers)]

    return rule


def _olmo_hybrid_types(fields: Readers) -> Sequence[str]:
    kinds = _intervals(None)(fields)
    return [*kinds[:-1], FULL] if kinds and FULL not in kinds else kinds


def _olmo_hybrid_key(fields: Readers) -> int:
    written = fields.maybe_count("linear_key_head_dim", least=0)
    return written or int(0.75 * fields.hidden_size / fields.count("linear_num_key_heads"))


def _olmo_hybrid_value(fields: Readers) -> int:
    return fields.maybe_count("linear_value_head_dim", least=0) or 2 * _olmo_hybrid_key(fields)


def _lfm2_types(fields: Readers) -> Sequence[str]:
    if "layer_types" in fields:
        return fields.words("layer_types")
    attending = set(fields.counts("full_attn_idxs")) if "full_attn_idxs" in fields else None
    return [FULL if attending is None or i in attending else "conv" for i in range(fields.layers)]


def _granite_types(fields: Readers) -> Sequence[str]:
    return fields.words("layer_types") or [LINEAR] * fields.layers


def _state_head(inner: str | None = None) -> Rule:
    """`mamba_d_head`, `auto` standing for what a head of the mixer gets of `inner` or the expanded hidden size."""

    def rule(fields: Readers) -> int:
        """Elements of a head of the mixer."""
        if "mamba_d_head" in fields and not fields.is_word("mamba_d_head", "auto"):
            return fields.count("mamba_d_head")
        size = fields.maybe_count(inner, least=0) if inner else None
        return (size or fields.count("mamba_expand") * fields.hidden_size) // fields.count("mamba_n_heads")

    return rule


def _inner_size(fields: Readers) -> int | None:
    """A Mamba 1 mixer's channels: as written, else what the hidden size expands to."""
    written = fields.in_file.maybe_count("intermediate_size")
    return written if written or "expand" not in fields else int(fields.number("expand", 1) * fields.hidden_size)


def _longcat_layers(fields: Readers) -> int | None:
    """Layers of two attentions each; `num_hidden_layers`, where it is written instead, counts attentions."""
    if "num_layers" not in fields.in_file and "num_hidden_layers" in fields.in_file:
        return fields.in_file.repeats("num_hidden_layers") // 2
    return fields.maybe_count("num_layers")


def _zamba2_length(fields: Readers) -> int | None:
    return 16384 if fields.flag("use_long_context") else fields.maybe_tokens("max_position_embeddings")


_NEMOTRON_H = {
    "hybrid_override_pattern": _nemotron_pattern,
    "mtp_hybrid_override_pattern": _nemotron_draft,
    "num_hidden_layers": lambda fields: len(_nemotron_pattern(fields)),
    "n_groups": _first_of("mamba_n_groups", "n_groups", default=8),
    "conv_kernel": _first_of("mamba_d_conv", "conv_kernel", default=4),
    "expand": _first_of("mamba_expand", "expand", default=2),
    "chunk_size": _first_of("mamba_chunk_size", "chunk_size", default=128),
}
_QWEN35 = {"layer_types": _intervals()}
_MAMBA1 = {"intermediate_size": _inner_size}
_LONGCAT = {"num_hidden_layers": _longcat_layers, "num_layers": _longcat_layers}
HYBRIDS: Mapping[str, Mapping[str, Rule]] = {
    "qwen3_next": {"layer_types": _intervals(None)},
    **dict.fromkeys(("qwen3_5_text", "qwen3_5_moe_text", "qwen4_exp_text"), _QWEN35),
    "olmo_hybrid": {
        "layer_types": _olmo_hybrid_types,
        "linear_key_head_dim": _olmo_hybrid_key,
        "linear_value_head_dim": _olmo_hybrid_value,
    },
    "lfm2": {"layer_types": _lfm2_types},
    **dict.fromkeys(("mamba", "falcon_mamba"), _MAMBA1),
    "granitemoehybrid": {
        "layer_types": _granite_types,
        "mamba_d_head": _state_head(),
    },
    "falcon_h1": {"mamba_d_head": _state_head("mamba_d_ssm")},
    "zamba2": {
        "attention_head_dim": lambda fields: 2 * fields.hidden_size // fields.heads,
        "max_position_embeddings": _zamba2_length,
    },
    "bailing_hybrid": {"head_dim": lambda fields: fields.maybe_count("qk_rope_head_dim")},
    "nemotron_h": _NEMOTRON_H,
    "longcat_flash": _LONGCAT,
    "longcat_flash_ngram": _LONGCAT,
}
"""Rules of models with states or latent attention."""
