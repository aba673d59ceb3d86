"""The deployment that a document describes, as the facts that a catalogue's conditions ask for."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from kvinspect.document.document import Document

DEFAULT_CAPABILITY = {"cuda": "9.0", "rocm": "9.4", "xpu": None, "cpu": None}
"""Compute capability where a document names none: Hopper, and gfx942."""


class DeploymentFacts(NamedTuple):
    """Platform, device and heads. `capability` is `major.minor`, None where the platform has none."""

    platform: str
    capability: str | None
    cache_dtype: str
    num_attention_heads: int
    num_kv_heads: int
    model_head_size: int | None = None
    """Elements of a head of the model, taken from the first attention layers of the document."""
    flash_attn_version: int | None = None
    """As the document asks for it."""
    decode_context_parallel_size: int = 1

    @classmethod
    def of(cls, document: Document) -> DeploymentFacts:
        """The deployment of a document."""
        model = document.model
        specs = (*(group.spec for group in document.groups), *(model.kv_cache_specs or {}).values())
        written = [spec.num_kv_heads for spec in specs if spec.num_kv_heads]
        kv_heads = model.model_config.num_key_value_heads or next(iter(written), 1)
        heads = [spec.head_size for group in document.groups for spec in (group.spec, *group.layer_specs.values())]
        return cls(
            platform=model.platform,
            capability=model.device_capability or DEFAULT_CAPABILITY[model.platform],
            cache_dtype=model.cache_dtype,
            num_attention_heads=model.model_config.num_attention_heads or kv_heads,
            num_kv_heads=kv_heads,
            model_head_size=next((size for size in heads if size), None),
            flash_attn_version=model.attention_config.flash_attn_version,
            decode_context_parallel_size=model.parallel_config.decode_context_parallel_size,
        )

    def facts(self) -> Mapping[str, Any]:
        """The facts as conditions name them."""
        divisible = self.num_attention_heads % self.num_kv_heads == 0
        grouped = self.num_attention_heads // self.num_kv_heads > 1
        more = (
            ("quantized_kv_cache", self.cache_dtype not in UNQUANTIZED),
            ("model_head_size", self.model_head_size),
            ("attention_config.flash_attn_version", self.flash_attn_version),
            ("decode_context_parallel_size", self.decode_context_parallel_size),
        )
        return _facts(self.platform, self.capability, divisible, grouped, more)


UNQUANTIZED = ("auto", "half", "float16", "bfloat16", "float", "float32")
"""Cache dtypes that store what the model computes."""


@cache
def _facts(
    platform: str, capability: str | None, divisible: bool, grouped: bool, more: tuple[tuple[str, Any], ...]
) -> Mapping[str, Any]:
    return dict(more) | {
        "platform": platform,
        "capability": capability,
        "capability_family": int(capability.split(".")[0]) if capability else None,
        "q_heads_divisible": divisible,
        "q_heads_grouped": grouped,
    }
