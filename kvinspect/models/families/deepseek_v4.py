"""DeepSeek V4: every layer has a window's cache; compressed ones have a cache of their own, and compressors' states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvinspect.models.layers import Bare, Given, Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("DeepseekV4ForCausalLM",)

PACKED = "fp8_ds_mla"
ROW = 584
"""Bytes of a packed row: 448 without rotation, 128 with it, 8 of scales."""

WINDOW_BLOCK = 64
"""Tokens of a block of a window's cache, as many as a block of the layers compressed by four stores."""

STATE_BLOCKS = {4: 4, 128: 8}
"""Compression → tokens of a block of a compressor's states."""


def layers(scope: Scope) -> Iterator[Layer]:
    """Layers by `compress_ratios`: 4 with an indexer, 128 without one, else the window alone."""
    for i in range(scope.text.layers):
        yield from attention(scope, f"model.layers.{i}.attn", i)


def attention(scope: Scope, prefix: str, number: int) -> Iterator[Layer]:
    """The caches of one layer, in the order in which the engine makes them."""
    ratio = _ratio(scope, number)
    if ratio == 4:
        yield _index_keys(scope, f"{prefix}.indexer.k_cache", number, ratio)
        yield _states(scope, f"{prefix}.indexer", number, ratio, scope.text.count("index_head_dim"))
    yield _window(scope, f"{prefix}.swa_cache", number)
    if ratio == 1:
        yield Bare(scope.named(prefix), number, backend(scope))
        return
    yield _compressed(scope, prefix, number, ratio)
    yield _states(scope, prefix, number, ratio, scope.text.count("head_dim"))


def _ratio(scope: Scope, number: int) -> int:
    """How many tokens a layer keeps as one; layers past the last of the model do not compress."""
    text = scope.text
    if number >= text.layers:
        return 1
    ratios = text.counts("compress_ratios", text.layers)
    if not ratios:
        text.fail("compress_ratios", "the compression of each layer", None)
    if ratios[number] not in (0, 1, *STATE_BLOCKS):
        text.fail("compress_ratios", "0, 1, 4 or 128", ratios[number], index=number)
    return max(1, ratios[number])


def backend(scope: Scope) -> str:
    """The backend that the model's class goes with: FlashInfer on devices of 12.x or where it is asked for."""
    known, wanted = scope.setting.model_backends("deepseek_v4"), scope.setting.attention_backend
    return wanted if wanted is not None and wanted in known else known[0]


def _row(scope: Scope) -> dict[str, Any]:
    """What specs of keys have in common: rows packed to 584 bytes, or plain ones."""
    cache_dtype = scope.setting.cache_dtype
    plain = "float8_e4m3fn" if cache_dtype.startswith("fp8") else "bfloat16"
    return {
        "head_size": scope.text.count("head_dim"),
        "dtype": "uint8" if cache_dtype == PACKED else plain,
        "cache_dtype_str": cache_dtype,
        "kv_quant_mode": scope.setting.quant_mode(cache_dtype),
        "alignment": _alignment(scope),
        "model_version": "deepseek_v4",
        "state_content_bytes": ROW if cache_dtype == PACKED else None,
    }


def _alignment(scope: Scope) -> int:
    return 576 if scope.setting.cache_dtype == PACKED else 512


def _window(scope: Scope, name: str, number: int) -> Given:
    fields = {**_row(scope), "block_size": WINDOW_BLOCK, "sliding_window": scope.text.tokens("sliding_window")}
    return Given(scope.named(name), number, "DEEPSEEK_SPARSE_SWA", "sliding_window_mla", fields)


def _compressed(scope: Scope, name: str, number: int, ratio: int) -> Given:
    fields = {**_row(scope), "compress_ratio": ratio}
    return Given(scope.named(name), number, backend(scope), "mla_attention", fields)


def _index_keys(scope: Scope, name: str, number: int, ratio: int) -> Given:
    size = scope.text.count("index_head_dim")
    size = size // 2 + size // 32 if scope.setting.arguments.use_fp4_indexer_cache else size + size // 128 * 4
    fields = {"head_size": size, "dtype": "uint8", "alignment": _alignment(scope), "compress_ratio": ratio}
    return Given(scope.named(name), number, "DEEPSEEK_V4_INDEXER", "mla_attention", fields)


def _states(scope: Scope, prefix: str, number: int, ratio: int, size: int) -> Given:
    """What a compressor keeps of the tokens that it has not compressed yet; those of 4 overlap, and count twice."""
    twice = 2 if ratio == 4 else 1
    fields = {
        "block_size": STATE_BLOCKS[ratio],
        "head_size": 2 * twice * size,
        "dtype": "float32",
        "sliding_window": twice * ratio,
        "alignment": _alignment(scope),
    }
    name = scope.named(f"{prefix}.compressor.state_cache")
    return Given(name, number, "CompressorBackend", "sliding_window_mla", fields)
