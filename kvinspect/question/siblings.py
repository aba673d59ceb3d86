"""Bundled models that are a quantized form of a named one: `Qwen/Qwen3-32B-FP8` of `Qwen/Qwen3-32B`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kvinspect.bundled.lookup import Ambiguous, bundled, bundled_names

_QUANTIZED = re.compile(r"-(fp8|awq|gptq|int8|int4|w8a8|w4a16)\b[\w.-]*")
"""What the name of a quantized model has behind that of the model; of formats that every GPU of the table runs."""


def quantized_siblings(name: str) -> tuple[str, ...]:
    """The quantized forms of a bundled model, those of its own organization and in FP8 first.

    One that is quantized has none. The name alone proves nothing: architecture and layers have to be the same.
    """
    own = _facts(name)
    if own is None or "quantization_config" in own[1]:
        return ()
    called, config = own
    organization, _, model = called.lower().partition("/")
    found = []
    for other in bundled_names():
        theirs, _, form = other.lower().partition("/")
        if form.startswith(model) and _QUANTIZED.fullmatch(form[len(model) :]) and _is_same(config, other):
            found.append((theirs != organization, "-fp8" not in form, len(form), other))
    return tuple(other for *_, other in sorted(found))


def _facts(name: str) -> tuple[str, Mapping[str, Any]] | None:
    try:
        found = bundled(name)
    except Ambiguous:
        return None
    return (found.name, found.config) if found else None


def _is_same(config: Mapping[str, Any], other: str) -> bool:
    """Whether a quantized model has the architecture and the layers of a config.json."""
    facts = _facts(other)
    if facts is None or "quantization_config" not in facts[1]:
        return False
    return all(config.get(key) == facts[1].get(key) for key in ("architectures", "num_hidden_layers", "hidden_size"))
