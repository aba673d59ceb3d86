"""Which backends a platform would take for a layer (`get_valid_backends` and `validate_configuration`, 0.25 on).

The engine's `supports_combination`, a last check of some MLA and sink kernels, is not in the catalogue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kvinspect.backends.conditions import Facts, choose
from kvinspect.backends.deployment_facts import UNQUANTIZED, DeploymentFacts
from kvinspect.backends.head_sizes import in_words, takes_head_size
from kvinspect.specs.attention import AttentionSpec

SELECTED_BY = ("use_mla", "use_sparse", "use_non_causal", "use_mm_prefix", "use_kv_connector", "head_size")
"""What of a layer a platform's order of preference may depend on."""


PLAIN_DTYPES = ("float16", "bfloat16", "float32")
"""Dtypes of a cache that is not quantized; a layer with one, beside quantized ones, was left out by the user."""


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
            dtype=spec.dtype if spec.dtype in PLAIN_DTYPES else "bfloat16",
            cache_dtype="auto" if spec.dtype in PLAIN_DTYPES else cache_dtype,
            block_size=spec.block_size,
            use_mla=spec.latent,
            has_sink=spec.has_sinks,
            has_sliding_window=spec.windowed,
            attn_type=spec.attn_type,
            **more,
        )


def candidates(catalogue: Mapping[str, Any], deployment: DeploymentFacts, ask: Ask) -> list[str]:
    """The backends that the platform tries, most preferred first. On ROCm as with AITER installed and switched on."""
    facts = {
        **deployment.facts(),
        "num_attention_heads": deployment.num_attention_heads,
        "quantized_kv_cache": ask.cache_dtype not in UNQUANTIZED,
        **{key: getattr(ask, key) for key in SELECTED_BY},
    }
    found: list[str] = choose(catalogue["selection"], facts)
    return [name for name in found if "unavailable" not in catalogue["backends"].get(name, {"unavailable": True})]


class Misfit(NamedTuple):
    """A property of a layer that a backend does not support: its sort, its name in words, and the remedy."""

    sort: str
    text: str
    remedy: str


def misfits_of(entry: Mapping[str, Any], ask: Ask, facts: Facts) -> Iterator[Misfit]:
    """The properties of a layer that a backend does not support, in the engine's order."""

    def answer(key: str) -> Any:
        return choose(entry.get(key), facts)

    declared, accepted = answer("supported_head_sizes"), answer("head_sizes_accepted")
    rule = answer("head_size_rule")
    if not takes_head_size(rule, ask.head_size, declared, accepted):
        yield Misfit("head size", f"head size {ask.head_size}", f"supported: {in_words(rule, declared or accepted)}")
    if ask.dtype not in answer("supported_dtypes"):
        yield Misfit("dtype", f"dtype {ask.dtype}", f"supported: {', '.join(answer('supported_dtypes'))}")
    if ask.cache_dtype not in answer("supported_kv_cache_dtypes"):
        known = ", ".join(answer("supported_kv_cache_dtypes"))
        yield Misfit("cache dtype", f"KV cache dtype {ask.cache_dtype}", f"supported: {known}")
    if not takes_block(answer("supported_kernel_block_sizes"), ask.block_size):
        yield Misfit(
            "block size", f"block size {ask.block_size}", "set --block-size to a supported size or a multiple of one"
        )
    yield from _attention_misfits(ask, answer)
    yield from _platform_misfits(answer("platform"), facts, answer("capabilities_accepted"))


_OTHERS = "use another backend for these layers"
_ASKED_FOR = {
    "has_sink": ("supports_sink", "attention sinks"),
    "use_mm_prefix": ("supports_mm_prefix", "bidirectional attention of multimodal tokens"),
    "has_sliding_window": ("supports_sliding_window", "a sliding window"),
    "use_non_causal": ("supports_non_causal", "non-causal attention"),
    "use_kv_connector": ("supports_kv_connector", "a KV connector"),
}


def _attention_misfits(ask: Ask, answer: Callable[[str], Any]) -> Iterator[Misfit]:
    for flag, key, word in (("use_mla", "is_mla", "MLA"), ("use_sparse", "is_sparse", "sparse attention")):
        if getattr(ask, flag) != answer(key):
            yield Misfit("attention", word if getattr(ask, flag) else f"attention without {word}", _OTHERS)
    for flag, (key, word) in _ASKED_FOR.items():
        if getattr(ask, flag) and answer(key) is False:
            yield Misfit("attention", word, _OTHERS)
    if ask.attn_type not in answer("supports_attn_types"):
        yield Misfit("attention", f"attention of type {ask.attn_type}", _OTHERS)


def _platform_misfits(home: str | None, facts: Facts, capabilities: list[str]) -> Iterator[Misfit]:
    """`home` is the one platform whose kernels a backend is made of, None where there are several."""
    platform, capability = facts["platform"], facts["capability"]
    if home is not None and home != platform:
        yield Misfit("platform", f"platform {platform}", f"its kernels are for {home}")
    elif platform == "cuda" and capability in _ASKED_CAPABILITIES and capability not in capabilities:
        yield Misfit("platform", f"compute capability {capability}", f"supported: {', '.join(capabilities)}")


_ASKED_CAPABILITIES = ("7.0", "7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1")


def takes_block(sizes: Sequence[int | str], block_size: int | None) -> bool:
    """Whether a kernel block size divides a block size, or is a multiple's base that does."""
    if block_size is None:
        return True
    return any(block_size % int(str(size).removesuffix("n")) == 0 for size in sizes)
