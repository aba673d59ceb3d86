"""What configuration classes work out from other fields when they are made: layer patterns, windows that do not count.

Facts are those of transformers' configuration classes (5.24). A rule is asked for its field before the file is; the
fields that it sees are those of the file and the defaults alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvinspect.models.completions_with_states import HYBRIDS

if TYPE_CHECKING:
    from kvinspect.models.readers import Readers

Rule = Callable[["Readers"], Any]

SLIDING, FULL, CHUNKED = "sliding_attention", "full_attention", "chunked_attention"


def _pattern(is_sliding: Callable[[Readers, int], Any]) -> Rule:
    """`layer_types` as written, else by a question about each layer."""

    def rule(fields: Readers) -> Sequence[str]:
        """The kind of each layer."""
        if "layer_types" in fields:
            return fields.words("layer_types")
        return [SLIDING if is_sliding(fields, i) else FULL for i in range(fields.layers)]

    return rule


def _every(period: int, name: str | None = "sliding_window_pattern") -> Rule:
    """One layer of full attention in a period of layers, whose length is under `name` or `period`."""
    return _pattern(lambda fields, i: (i + 1) % (fields.count(name, period) if name else period))


def _window(fields: Readers) -> int | None:
    return fields.maybe_tokens("sliding_window", least=0)


def _half(window: int | None) -> int | None:
    """Gemma's window to one side, where tokens attend bidirectionally."""
    return None if window is None else window // 2 + 1


def _gemma3_window(fields: Readers) -> int | None:
    return _half(_window(fields)) if fields.flag("use_bidirectional_attention") else _window(fields)


def _gemma4_window(fields: Readers) -> int | None:
    return _half(_window(fields)) if fields.is_word("use_bidirectional_attention", "all") else _window(fields)


def _if_used(fields: Readers) -> int | None:
    """A window that counts only where `use_sliding_window` says so."""
    return _window(fields) if fields.flag("use_sliding_window") else None


def _after_full(fields: Readers, i: int) -> bool:
    """Qwen's layers from `max_window_layers` on."""
    return _if_used(fields) is not None and i >= fields.count("max_window_layers", 0, least=0)


def _dots1(fields: Readers, i: int) -> bool:
    return _window(fields) is not None and i >= fields.count("max_window_layers", 0, least=0)


def _qwen2_moe(fields: Readers, i: int) -> bool:
    used = (i + 1) % 2 and fields.flag("use_sliding_window")
    return bool(used and i < fields.count("max_window_layers", fields.layers, least=0))


def _gemma4_types(fields: Readers) -> Sequence[str]:
    """The last layer sees everything, whatever the pattern."""
    kinds = _every(6, None)(fields)
    return [*kinds[:-1], FULL] if kinds else kinds


def _exaone4(fields: Readers, i: int) -> bool:
    """A number, or one letter a layer in turn: L is local."""
    name = "sliding_window_pattern"
    if "sliding_window" not in fields or name not in fields:
        return False
    if fields.is_word(name):
        letters = fields.word(name)
        return bool(letters) and i < fields.layers - 1 and letters[i % len(letters)] == "L"
    period = fields.count(name, least=0)
    return period > 0 and (i + 1) % period != 0


def _no_rope(fields: Readers) -> Sequence[int]:
    written = fields.counts("no_rope_layers", fields.layers)
    interval = fields.count("no_rope_layer_interval", 4)
    return written or [int((i + 1) % interval != 0) for i in range(fields.layers)]


def _llama4_types(fields: Readers) -> Sequence[str]:
    if "layer_types" in fields:
        return fields.words("layer_types")
    chunked = "attention_chunk_size" in fields
    return [CHUNKED if rope and chunked else FULL for rope in _no_rope(fields)]


def _smollm3_types(fields: Readers) -> Sequence[str]:
    if "layer_types" in fields:
        return fields.words("layer_types")
    used = _if_used(fields) is not None
    return [SLIDING if used and not rope else FULL for rope in _no_rope(fields)]


def _cohere2_moe_types(fields: Readers) -> Sequence[str]:
    if "layer_types" in fields:
        return fields.words("layer_types")
    dense = min(fields.count("first_k_dense_replace", 0, least=0), fields.layers)
    before = fields.count("prefix_dense_sliding_window_pattern", 1)
    period = fields.count("sliding_window_pattern", 4)
    first = [SLIDING if (i + 1) % before else FULL for i in range(dense)]
    return first + [SLIDING if (i + 1) % period else FULL for i in range(fields.layers - dense)]


def _dory(fields: Readers) -> Sequence[str]:
    """Attention and an MLP by turns, the fourth attention of each four without a window."""
    if "layer_types" in fields:
        return fields.words("layer_types")
    return ["mlp" if i % 2 else FULL if i % 8 == 6 else SLIDING for i in range(fields.layers)]


def _mimo_v2(fields: Readers, i: int) -> bool:
    return i != 0 and (i + 1) % 6 != 0


def _stack_depth(fields: Readers) -> int | None:
    return fields.maybe_count("num_layers_per_stack", least=0) or fields.maybe_count("num_hidden_layers")


_ALTERNATING = {"layer_types": _every(2, None)}
_GEMMA3 = {"layer_types": _every(6), "sliding_window": _gemma3_window}
_GEMMA4 = {"layer_types": _gemma4_types, "sliding_window": _gemma4_window}
_QWEN_MOE = {"sliding_window": _if_used}
_MINISTRAL = {"layer_types": _pattern(lambda fields, i: "sliding_window" in fields)}
_QWEN = {"layer_types": _pattern(_after_full), "sliding_window": _if_used}

COMPLETIONS: Mapping[str, Mapping[str, Rule]] = {
    "gemma2": _ALTERNATING,
    "vaultgemma": _ALTERNATING,
    "gpt_oss": _ALTERNATING,
    "gemma3_text": _GEMMA3,
    "gemma3n_text": {"layer_types": _every(5, None)},
    **dict.fromkeys(("gemma4_text", "gemma4_unified_text", "diffusion_gemma_text"), _GEMMA4),
    "cohere2": {"layer_types": _every(4)},
    "cohere2_moe": {"layer_types": _cohere2_moe_types},
    "olmo3": {"layer_types": _every(4, None)},
    "modernbert-decoder": {"layer_types": _pattern(lambda f, i: i % f.count("global_attn_every_n_layers", 3))},
    "mimo_v2_flash": {"layer_types": _pattern(_mimo_v2)},
    "hrm_text": {"num_layers_per_stack": _stack_depth},
    "muse_glimmer_text": {"layer_types": _every(4, None)},
    "beam": {"layer_types": _pattern(lambda fields, i: True)},
    "dory": {"layer_types": _dory},
    "flint": {"layer_types": _pattern(lambda fields, i: False)},
    "cwm": {"layer_types": _pattern(lambda fields, i: i % 4)},
    "afmoe": {"layer_types": _every(4, "global_attn_every_n_layers")},
    "exaone4": {"layer_types": _pattern(_exaone4)},
    "exaone_moe": {"layer_types": _pattern(_exaone4)},
    **dict.fromkeys(("qwen2", "qwen3", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_5_omni_text"), _QWEN),
    "dots1": {"layer_types": _pattern(_dots1)},
    "qwen2_moe": {"layer_types": _pattern(_qwen2_moe), "sliding_window": lambda f: _if_used(f) or 0},
    **dict.fromkeys(("qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text"), _QWEN_MOE),
    **HYBRIDS,
    "llama4_text": {"layer_types": _llama4_types, "no_rope_layers": _no_rope},
    "smollm3": {"layer_types": _smollm3_types},
    "ministral": _MINISTRAL,
}
"""Model type → field → its rule."""
