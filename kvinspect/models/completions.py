"""What configuration classes work out from other fields when they are made: layer patterns, windows that do not count.

Facts are those of transformers' configuration classes (5.24). A rule is asked for its field before the file is; it sees
the file and the defaults through `plain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvinspect.models.config import Fields

Rule = Callable[["Fields"], Any]

SLIDING, FULL, CHUNKED = "sliding_attention", "full_attention", "chunked_attention"
LINEAR = "linear_attention"


def _pattern(is_sliding: Callable[[Fields, int], Any]) -> Rule:
    """`layer_types` as written, else by a question about each layer."""

    def rule(fields: Fields) -> Any:
        written = fields.plain("layer_types")
        if written is not None:
            return written
        return [SLIDING if is_sliding(fields, i) else FULL for i in range(fields.layers)]

    return rule


def _every(period: int, name: str = "sliding_window_pattern") -> Rule:
    """Every so many layers one with full attention, the number under `name` or `period`."""
    return _pattern(lambda fields, i: (i + 1) % (_positive(fields, name) or period))


def _positive(fields: Fields, name: str) -> int | None:
    value = fields.plain(name)
    if value is None:
        return None
    if type(value) is not int or value < 1:
        fields.fail(name, "a whole number from 1 on", value)
    return value


def _halved_if_both_ways(fields: Fields) -> Any:
    """Gemma's window, half of it to each side where tokens attend both ways."""
    window = fields.plain("sliding_window")
    both = fields.plain("use_bidirectional_attention")
    return window // 2 + 1 if both and type(window) is int else window


def _gemma4_window(fields: Fields) -> Any:
    window = fields.plain("sliding_window")
    return window // 2 + 1 if fields.plain("use_bidirectional_attention") == "all" and type(window) is int else window


def _if_used(fields: Fields) -> Any:
    """A window that counts only where `use_sliding_window` says so."""
    return fields.plain("sliding_window") if fields.plain("use_sliding_window") else None


def _after_full(fields: Fields, i: int) -> bool:
    """Qwen's layers from `max_window_layers` on."""
    first = fields.plain("max_window_layers")
    return _if_used(fields) is not None and (type(first) is not int or i >= first)


def _qwen2_moe(fields: Fields, i: int) -> bool:
    first = fields.plain("max_window_layers")
    return bool((i + 1) % 2 and fields.plain("use_sliding_window") and (type(first) is not int or i < first))


def _gemma4_types(fields: Fields) -> Any:
    kinds = _every(6, "")(fields)
    return [*kinds[:-1], FULL] if isinstance(kinds, list) and kinds else kinds


def _exaone4(fields: Fields, i: int) -> bool:
    """A number, or one letter a layer in turn: L is local."""
    pattern = fields.plain("sliding_window_pattern")
    if fields.plain("sliding_window") is None or pattern in (None, 0):
        return False
    if isinstance(pattern, str):
        return i < fields.layers - 1 and pattern[i % len(pattern)] == "L" if pattern else False
    return (i + 1) % (_positive(fields, "sliding_window_pattern") or 4) != 0


def _no_rope(fields: Fields) -> list[int]:
    written = fields.plain("no_rope_layers")
    if isinstance(written, list) and written:
        return written
    interval = _positive(fields, "no_rope_layer_interval") or 4
    return [int((i + 1) % interval != 0) for i in range(fields.layers)]


def _llama4_types(fields: Fields) -> Any:
    written = fields.plain("layer_types")
    if written is not None:
        return written
    chunked = fields.plain("attention_chunk_size") is not None
    return [CHUNKED if rope and chunked else FULL for rope in _no_rope(fields)]


def _smollm3(fields: Fields, i: int) -> bool:
    return _if_used(fields) is not None and not _no_rope(fields)[i]


def _cohere2_moe_types(fields: Fields) -> Any:
    written = fields.plain("layer_types")
    if written is not None:
        return written
    dense = fields.plain("first_k_dense_replace")
    dense = dense if type(dense) is int else 0
    before = _positive(fields, "prefix_dense_sliding_window_pattern") or 1
    period = _positive(fields, "sliding_window_pattern") or 4
    first = [SLIDING if (i + 1) % before else FULL for i in range(min(dense, fields.layers))]
    return first + [SLIDING if (i + 1) % period else FULL for i in range(fields.layers - len(first))]


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
        period = _positive(fields, name) or 4
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
        if written != "auto":
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


_QWEN35 = {"layer_types": _intervals()}
_MAMBA1 = {"intermediate_size": _inner_size}
_LONGCAT = {"num_hidden_layers": _longcat_layers, "num_layers": _longcat_layers}
_HYBRIDS: Mapping[str, Mapping[str, Rule]] = {
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
    "longcat_flash": _LONGCAT,
    "longcat_flash_ngram": _LONGCAT,
}
"""Rules of models with states or latent attention."""

_NEMOTRON_H = {
    "hybrid_override_pattern": _nemotron_pattern,
    "mtp_hybrid_override_pattern": _nemotron_draft,
    "num_hidden_layers": _nemotron_layers,
    "n_groups": _first_of("mamba_n_groups", "n_groups", default=8),
    "conv_kernel": _first_of("mamba_d_conv", "conv_kernel", default=4),
    "expand": _first_of("mamba_expand", "expand", default=2),
    "chunk_size": _first_of("mamba_chunk_size", "chunk_size", default=128),
}

_ALTERNATING = {"layer_types": _every(2, "")}
_GEMMA3 = {"layer_types": _every(6), "sliding_window": _halved_if_both_ways}
_GEMMA4 = {"layer_types": _gemma4_types, "sliding_window": _gemma4_window}
_QWEN_MOE = {"sliding_window": _if_used}
_MINISTRAL = {"layer_types": _pattern(lambda fields, i: fields.plain("sliding_window") is not None)}
_QWEN = {"layer_types": _pattern(_after_full), "sliding_window": _if_used}

COMPLETIONS: Mapping[str, Mapping[str, Rule]] = {
    "gemma2": _ALTERNATING,
    "vaultgemma": _ALTERNATING,
    "gpt_oss": _ALTERNATING,
    "gemma3_text": _GEMMA3,
    "gemma3n_text": {"layer_types": _every(5, "")},
    **dict.fromkeys(("gemma4_text", "gemma4_unified_text", "diffusion_gemma_text"), _GEMMA4),
    "cohere2": {"layer_types": _every(4)},
    "cohere2_moe": {"layer_types": _cohere2_moe_types},
    "olmo3": {"layer_types": _every(4, "")},
    "modernbert-decoder": {"layer_types": _pattern(lambda f, i: i % (_positive(f, "global_attn_every_n_layers") or 3))},
    "cwm": {"layer_types": _pattern(lambda fields, i: i % 4)},
    "afmoe": {"layer_types": _every(4, "global_attn_every_n_layers")},
    "exaone4": {"layer_types": _pattern(_exaone4)},
    "exaone_moe": {"layer_types": _pattern(_exaone4)},
    **dict.fromkeys(("qwen2", "qwen3", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "dots1"), _QWEN),
    "qwen2_moe": {"layer_types": _pattern(_qwen2_moe), "sliding_window": lambda f: _if_used(f) or 0},
    **dict.fromkeys(("qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text"), _QWEN_MOE),
    **_HYBRIDS,
    "nemotron_h": _NEMOTRON_H,
    "llama4_text": {"layer_types": _llama4_types, "no_rope_layers": _no_rope},
    "smollm3": {"layer_types": _pattern(_smollm3)},
    **dict.fromkeys(("ministral", "ministral3"), _MINISTRAL),
}
"""Model type → field → its rule."""
