"""Which backends a platform would take for a layer (`get_valid_backends` and `validate_configuration`, 0.25 to 0.28).

The engine's `supports_combination`, a last check of some MLA and sink kernels, is not in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.engine.conditions import Facts, choose
from kvinspect.engine.situation import Situation
from kvinspect.engine.specs import LATENT, AttentionSpec

ATTENTION_TYPES = {"encoder_only_attention": "encoder_only", "cross_attention": "encoder_decoder"}
"""Kind of a spec → vLLM's attention type, `decoder` for the others."""


class Ask(NamedTuple):
    """What a layer asks of its backend. `head_size` in elements, `block_size` in tokens."""

    head_size: int
    dtype: str
    cache_dtype: str
    block_size: int | None
    use_mla: bool = False
    use_sparse: bool = False
    has_sink: bool = False
    use_mm_prefix: bool = False
    has_sliding_window: bool = False
    use_non_causal: bool = False
    use_kv_connector: bool = False
    attn_type: str = "decoder"

    @classmethod
    def of(cls, spec: AttentionSpec, cache_dtype: str, **more: Any) -> Ask:
        """What a layer of a spec asks."""
        return cls(
            head_size=spec.head_size,
            dtype=spec.dtype if spec.dtype in ("float16", "bfloat16", "float32") else "bfloat16",
            cache_dtype=cache_dtype,
            block_size=spec.block_size,
            use_mla=spec.kind in LATENT,
            has_sink=spec.kind == "sink_full_attention",
            has_sliding_window=spec.kind in ("sliding_window", "sliding_window_mla"),
            attn_type=ATTENTION_TYPES.get(spec.kind, "decoder"),
            **more,
        )


def candidates(catalogue: Mapping[str, Any], situation: Situation, ask: Ask) -> list[str]:
    """The backends that the platform tries, most preferred first. On ROCm as with AITER installed and switched on."""
    facts = {
        **situation.facts(),
        "num_attention_heads": situation.num_attention_heads,
        "quantized_kv_cache": ask.cache_dtype.startswith(("fp8", "int", "nvfp4", "turboquant")),
        **{key: getattr(ask, key) for key in ("use_mla", "use_sparse", "use_non_causal")},
    }
    found: list[str] = choose(catalogue["selection"], facts)
    return [name for name in found if "unavailable" not in catalogue["backends"].get(name, {"unavailable": True})]


def reasons_against(entry: Mapping[str, Any], ask: Ask, facts: Facts) -> list[str]:
    """Why a backend does not take a layer, in the engine's order; empty where it does."""
    return list(_reasons(entry, ask, facts))


def _reasons(entry: Mapping[str, Any], ask: Ask, facts: Facts) -> Iterator[str]:
    def answer(key: str) -> Any:
        return choose(entry.get(key), facts)

    declared = answer("supported_head_sizes")
    if ask.head_size not in (declared or answer("head_sizes_accepted")):
        yield f"head size {ask.head_size}"
    if ask.dtype not in answer("supported_dtypes"):
        yield f"dtype {ask.dtype}"
    if ask.cache_dtype not in answer("supported_kv_cache_dtypes"):
        yield f"cache dtype {ask.cache_dtype}"
    if not _takes_block(answer("supported_kernel_block_sizes"), ask.block_size):
        yield f"block size {ask.block_size}"
    for flag, key in (("use_mla", "is_mla"), ("use_sparse", "is_sparse")):
        if getattr(ask, flag) != answer(key):
            yield ("" if getattr(ask, flag) else "not ") + key.removeprefix("is_")
    for flag, key in _ASKED_FOR.items():
        if getattr(ask, flag) and answer(key) is False:
            yield key.removeprefix("supports_").replace("_", " ")
    if facts["platform"] == "cuda" and facts["capability"] not in answer("capabilities_accepted"):
        yield f"compute capability {facts['capability']}"
    if ask.attn_type not in answer("supports_attn_types"):
        yield f"attention of type {ask.attn_type}"


_ASKED_FOR = {
    "has_sink": "supports_sink",
    "use_mm_prefix": "supports_mm_prefix",
    "has_sliding_window": "supports_sliding_window",
    "use_non_causal": "supports_non_causal",
    "use_kv_connector": "supports_kv_connector",
}


def _takes_block(sizes: list[int | str], block_size: int | None) -> bool:
    if block_size is None:
        return True
    return any(block_size % int(str(size).removesuffix("n")) == 0 for size in sizes)
