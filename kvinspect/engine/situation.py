"""The deployment that a document describes, as the facts that a catalogue's conditions ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from kvinspect.document.document import Document

DEFAULT_CAPABILITY = {"cuda": "9.0", "rocm": "9.4", "xpu": None, "cpu": None}
"""Compute capability where a document names none: Hopper, and gfx942."""


class Situation(NamedTuple):
    """Platform, device and heads. `capability` is `major.minor`, None where the platform has none."""

    platform: str
    capability: str | None
    cache_dtype: str
    num_attention_heads: int
    num_kv_heads: int

    @classmethod
    def of(cls, document: Document) -> Situation:
        """The situation of a document."""
        model = document.model
        written = [group.spec.num_kv_heads for group in document.groups if group.spec.num_kv_heads]
        kv_heads = model.model_config.num_key_value_heads or next(iter(written), 1)
        return cls(
            platform=model.platform,
            capability=model.device_capability or DEFAULT_CAPABILITY[model.platform],
            cache_dtype=model.cache_dtype,
            num_attention_heads=model.model_config.num_attention_heads or kv_heads,
            num_kv_heads=kv_heads,
        )

    def facts(self) -> Mapping[str, Any]:
        """The facts as conditions name them."""
        divisible = self.num_attention_heads % self.num_kv_heads == 0
        grouped = self.num_attention_heads // self.num_kv_heads > 1
        return _facts(self.platform, self.capability, divisible, grouped)


@cache
def _facts(platform: str, capability: str | None, divisible: bool, grouped: bool) -> Mapping[str, Any]:
    return {
        "platform": platform,
        "capability": capability,
        "capability_family": int(capability.split(".")[0]) if capability else None,
        "q_heads_divisible": divisible,
        "q_heads_grouped": grouped,
    }
