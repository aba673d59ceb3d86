"""What rotary scaling does to the longest context (`_get_and_verify_max_len` and `standardize_rope_params`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.models.fields import Fields

UNSCALED = ("su", "longrope", "llama3")
"""Kinds of scaling whose factor is in the file's length already."""

YARN = ("yarn", "deepseek_yarn", "deepseek_llama_scaling")
"""Kinds of which this holds from 0.30 on."""

LAYER_TYPES = frozenset({
    "full_attention", "sliding_attention", "chunked_attention", "linear_attention", "compressed_sparse_attention",
    "heavily_compressed_attention", "attention", "mamba", "conv", "hybrid", "moe", "dense", "sparse",
})  # fmt: skip
"""Keys of rotary parameters that are told by layer type."""


class Rope(NamedTuple):
    """Rotary parameters: their kind, and the fields beside it."""

    kind: str
    fields: Fields


def rope_parameters(text: Fields) -> Iterator[Rope]:
    """The rotary parameters, of each layer type where they differ."""
    scaling = text.in_file.mapping("rope_scaling")
    found = scaling if scaling.is_there else text.mapping("rope_parameters")
    nested = [key for key in found.names if key in LAYER_TYPES and key in found]
    for part in [found.mapping(key) for key in nested] if nested else [found]:
        if part.is_there:
            kind = part.word("rope_type") or part.word("type", "default")
            yield Rope("default" if kind == "mrope" else kind, part)


def scaled_length(text: Fields, longest: float, yarn_scales: bool) -> float:
    """The longest context with the scaling's factor, in tokens. Gemma 3 has it in its length already."""
    if "gemma3" in text.model_type:
        return longest
    factor = 1.0
    unscaled = UNSCALED if yarn_scales else UNSCALED + YARN
    for part in rope_parameters(text):
        if part.kind not in unscaled:
            factor = part.fields.number("factor", factor)
            if part.kind == "yarn":
                longest = _original(text, part.fields)
    return longest * factor


def _original(text: Fields, part: Fields) -> float:
    """The length that the model was trained for, in tokens."""
    if "original_max_position_embeddings" in text:
        return text.tokens("original_max_position_embeddings")
    if "original_max_position_embeddings" in part:
        return part.tokens("original_max_position_embeddings")
    return text.tokens("max_position_embeddings")


def starts_long(text: Fields) -> int | None:
    """The default context of a LongRoPE model: the length it was trained for, None for other models."""
    if any(part.kind in ("longrope", "su") for part in rope_parameters(text)):
        return text.maybe_tokens("original_max_position_embeddings")
    return None
