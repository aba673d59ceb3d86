"""What configuration classes work out from other fields when they are made: layer patterns, windows that do not count.

Facts are those of transformers' configuration classes (5.24). A rule is asked for its field before the file is; it sees
the file and the defaults through `plain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kvinspect.models.hybrid_completions import HYBRIDS

if TYPE_CHECKING:
    from kvinspect.models.config import Fields

Rule = Callable[["Fields"], Any]

SLIDING, FULL, CHUNKED = "sliding_attention", "full_attention", "chunked_attention"


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


def _mimo_v2(fields: Fields, i: int) -> bool:
    return i != 0 and (i + 1) % 6 != 0


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
    "mimo_v2_flash": {"layer_types": _pattern(_mimo_v2)},
    "hrm_text": {"num_layers_per_stack": lambda f: f.plain("num_layers_per_stack") or f.plain("num_hidden_layers")},
    "cwm": {"layer_types": _pattern(lambda fields, i: i % 4)},
    "afmoe": {"layer_types": _every(4, "global_attn_every_n_layers")},
    "exaone4": {"layer_types": _pattern(_exaone4)},
    "exaone_moe": {"layer_types": _pattern(_exaone4)},
    **dict.fromkeys(("qwen2", "qwen3", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text", "dots1"), _QWEN),
    "qwen2_moe": {"layer_types": _pattern(_qwen2_moe), "sliding_window": lambda f: _if_used(f) or 0},
    **dict.fromkeys(("qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text"), _QWEN_MOE),
    **HYBRIDS,
    "llama4_text": {"layer_types": _llama4_types, "no_rope_layers": _no_rope},
    "smollm3": {"layer_types": _pattern(_smollm3)},
    "ministral": _MINISTRAL,
}
"""Model type → field → its rule."""
