"""What rotary scaling does to the longest context (`_get_and_verify_max_len` and `standardize_rope_params`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvinspect.models.config import Fields

UNSCALED = ("su", "longrope", "llama3")
"""Kinds of scaling whose factor is in the file's length already."""

YARN = ("yarn", "deepseek_yarn", "deepseek_llama_scaling")
"""Kinds of which this holds from 0.30 on."""

LAYER_TYPES = frozenset({
    "full_attention", "sliding_attention", "chunked_attention", "linear_attention", "compressed_sparse_attention",
    "heavily_compressed_attention", "attention", "mamba", "conv", "hybrid", "moe", "dense", "sparse",
})  # fmt: skip
"""Keys of rotary parameters that are told by layer type."""


def rope_parameters(text: Fields) -> Iterator[Mapping[str, Any]]:
    """The rotary parameters, of each layer type where they differ, with `rope_type` filled in."""
    found = text.written.get("rope_scaling") or text.get("rope_parameters")
    if found is None:
        return
    if not isinstance(found, Mapping):
        text.fail("rope_scaling", "a mapping", found)
    nested = [key for key in found if key in LAYER_TYPES]
    for part in [found[key] for key in nested] if nested else [found]:
        if not isinstance(part, Mapping):
            continue
        kind = part.get("rope_type", part.get("type", "default"))
        yield {**part, "rope_type": "default" if kind == "mrope" else kind}


def scaled_length(text: Fields, longest: float, yarn_scales: bool) -> float:
    """The longest context with the scaling's factor, in tokens. Gemma 3 has it in its length already."""
    if "gemma3" in text.model_type:
        return longest
    factor: Any = 1.0
    unscaled = UNSCALED if yarn_scales else UNSCALED + YARN
    for part in rope_parameters(text):
        if part["rope_type"] not in unscaled:
            factor = part.get("factor", factor)
            if part["rope_type"] == "yarn":
                longest = _original(text, part)
    if factor is None:
        return longest
    if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor < 1e9:
        text.fail("rope_scaling", "a factor above 0", factor)
    return longest * factor


def _original(text: Fields, part: Mapping[str, Any]) -> float:
    """The length that the model was trained for, in tokens."""
    if "original_max_position_embeddings" in text:
        return text.count("original_max_position_embeddings")
    found = part.get("original_max_position_embeddings")
    if found is None:
        return text.count("max_position_embeddings")
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 < found < 2**63:
        text.fail("rope_scaling", "original_max_position_embeddings to be a number above 0", found)
    return found


def starts_long(text: Fields) -> int | None:
    """The default context of a LongRoPE model: the length it was trained for, None for other models."""
    if any(part["rope_type"] in ("longrope", "su") for part in rope_parameters(text)):
        return text.maybe_count("original_max_position_embeddings")
    return None
