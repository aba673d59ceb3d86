"""The conditions of a support level in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvinspect.backends.conditions import Facts
from kvinspect.cudagraph.support import AttentionCGSupport

_TOPICS = {
    "platform": "platform {}",
    "capability": "compute capability {}",
    "capability_family": "compute capability {}.x",
    "flash_attn_version": "FlashAttention {}",
    "num_speculative_tokens": "{} speculative tokens",
    "kv_quant_mode": "KV quantization {}",
    "decode_context_parallel_size": "decode context parallel size {}",
}
_YES_OR_NO = {
    "q_heads_divisible": ("query heads divide by KV heads", "query heads do not divide by KV heads"),
    "use_non_causal": ("attention is not causal", "attention is causal"),
    "xqa_head_size": ("XQA supports the head size", "XQA does not support the head size"),
    "unclamped_window": (
        "bidirectional ranges may exceed the sliding window",
        "bidirectional ranges never exceed the sliding window",
    ),
    "trtllm_kernels": ("TRT-LLM kernels available", "TRT-LLM kernels not available"),
}


def fact_words(key: str, value: Any) -> str:
    """One fact in words: `compute capability 10.x`, `attention is causal`."""
    if isinstance(value, bool):
        yes, no = _YES_OR_NO[key]
        return yes if value else no
    if key == "use_trtllm_attention":
        return "use_trtllm_attention is false" if value == "false" else "TRT-LLM attention not disabled"
    if value is None:
        return "no " + _TOPICS[key].format("").strip()
    if isinstance(value, (list, tuple)):
        return _any_of(key, value)
    return _TOPICS[key].format(str(value).replace(">0", "some").replace(">1", "above 1"))


def _any_of(key: str, values: Sequence[Any]) -> str:
    """`compute capability 7.x or 8.x, or none`: None among the values is that there is none."""
    before, after = _TOPICS[key].split("{}")
    named = " or ".join(f"{one}{after}" for one in values if one is not None)
    return f"{before}{named}" + (", or none" if None in values else "")


def condition_words(condition: Mapping[str, Any]) -> str:
    """The facts of a condition in words."""
    return ", ".join(fact_words(key, value) for key, value in condition.items())


def failing_words(
    failed: Sequence[tuple[AttentionCGSupport, Mapping[str, Any]]], support: AttentionCGSupport, facts: Facts
) -> str:
    """Why nothing better holds: the better level whose conditions come nearest, and what is not so."""
    better = [(len(missing), level, missing) for level, missing in failed if level > support]
    if not better:
        return "all other cases"
    _, level, missing = min(better, key=lambda found: found[0])
    here = ", ".join(fact_words(key, facts.get(key)) for key in missing)
    return f"{level.name} requires: {condition_words(missing)}; here: {here}"


def value_words(value: Any) -> str:
    """A value by itself: yes and no for a flag."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
