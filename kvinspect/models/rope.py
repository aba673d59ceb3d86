"""What rotary scaling does to the longest context (`_get_and_verify_max_len` and `standardize_rope_params`)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from typing import Any, NamedTuple

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


THETA = "THETA"
"""In place of `rope_theta` where the file does not say it; an override without it has none."""


def longer_by_yarn(text: Fields, wanted: int) -> str:
    """`--hf-overrides` under which a model takes requests of a length, empty where YaRN cannot do it.

    The length is written as scaled, which every release takes: older ones work it out from the factor as well.
    """
    found = list(rope_parameters(text))
    usual = found[0] if found else Rope("default", text.mapping("rope_parameters"))
    if len(found) > 1 or not _takes_yarn(text, usual):
        return ""
    is_yarn = usual.kind == "yarn"
    trained = int(_original(text, usual.fields) if is_yarn else text.tokens("max_position_embeddings"))
    # A factor of the file that is large enough stays.
    factor = max(usual.fields.number("factor", 1) if is_yarn else 1, -(-wanted // trained))
    name = "rope_scaling" if text.in_file.mapping("rope_scaling").is_there else "rope_parameters"
    theta = text.numbers.get("rope_theta", THETA)
    rope = {"rope_theta": theta, **text.in_file.mapping(name).numbers, "rope_type": "yarn", "factor": float(factor)}
    rope["original_max_position_embeddings"] = trained
    values: dict[str, Any] = {name: rope, "max_position_embeddings": int(trained * factor)}
    for part in reversed(text.path):
        values = {str(part): values}
    return f"--hf-overrides {shlex.quote(json.dumps(values))}"


def _takes_yarn(text: Fields, rope: Rope) -> bool:
    """Whether a model has rotary positions that are not scaled in another way, and says how far they reach."""
    if "mrope_section" in rope.fields or not text.is_written("max_position_embeddings"):
        return False
    rotary = "rope_theta" in text or "rope_theta" in rope.fields
    return rope.kind == "yarn" or (rope.kind == "default" and rotary and "original_max_position_embeddings" not in text)
