"""DeepSeek V4: every layer has a window's cache; compressed ones have a cache of their own, and compressors' states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvinspect.models.here import Here
from kvinspect.models.layers import Bare, Given, Layer

ARCHITECTURES = ("DeepseekV4ForCausalLM",)

PACKED = "fp8_ds_mla"
ROW = 584
"""Bytes of a packed row: 448 without rotation, 128 with it, 8 of scales."""

WINDOW_BLOCK = 64
"""Tokens of a block of a window's cache, as many as a block of the layers compressed by four stores."""

STATE_BLOCKS = {4: 4, 128: 8}
"""Compression → tokens of a block of a compressor's states."""


def layers(here: Here) -> Iterator[Layer]:
    """Layers by `compress_ratios`: 4 with an indexer, 128 without one, else the window alone."""
    for i in range(here.text.layers):
        yield from attention(here, f"model.layers.{i}.attn", i)


def attention(here: Here, prefix: str, number: int) -> Iterator[Layer]:
    """The caches of one layer, in the order in which the engine makes them."""
    ratio = _ratio(here, number)
    if ratio == 4:
        yield _index_keys(here, f"{prefix}.indexer.k_cache", number, ratio)
        yield _states(here, f"{prefix}.indexer", number, ratio, here.text.count("index_head_dim"))
    yield _window(here, f"{prefix}.swa_cache", number)
    if ratio == 1:
        yield Bare(here.named(prefix), number, backend(here))
        return
    yield _compressed(here, prefix, number, ratio)
    yield _states(here, prefix, number, ratio, here.text.count("head_dim"))


def _ratio(here: Here, number: int) -> int:
    """How many tokens a layer keeps as one; layers past the last of the model do not compress."""
    text = here.text
    if number >= text.layers:
        return 1
    ratios = text.counts("compress_ratios", text.layers)
    if not ratios:
        text.fail("compress_ratios", "the compression of each layer", None)
    if ratios[number] not in (0, 1, *STATE_BLOCKS):
        text.fail("compress_ratios", "0, 1, 4 or 128", ratios[number], index=number)
    return max(1, ratios[number])


def backend(here: Here) -> str:
    """The backend that the model's class goes with: FlashInfer on devices of 12.x or where it is asked for."""
    known, wanted = here.setting.own_backends("deepseek_v4"), here.setting.attention_backend
    return wanted if wanted is not None and wanted in known else known[0]


def _row(here: Here) -> dict[str, Any]:
    """What specs of keys have in common: rows packed to 584 bytes, or plain ones."""
    cache_dtype = here.setting.cache_dtype
    plain = "float8_e4m3fn" if cache_dtype.startswith("fp8") else "bfloat16"
    return {
        "head_size": here.text.count("head_dim"),
        "dtype": "uint8" if cache_dtype == PACKED else plain,
        "cache_dtype_str": cache_dtype,
        "kv_quant_mode": here.setting.quant_mode(cache_dtype),
        "alignment": _alignment(here),
        "model_version": "deepseek_v4",
        "state_content_bytes": ROW if cache_dtype == PACKED else None,
    }


def _alignment(here: Here) -> int:
    return 576 if here.setting.cache_dtype == PACKED else 512


def _window(here: Here, name: str, number: int) -> Given:
    fields = {**_row(here), "block_size": WINDOW_BLOCK, "sliding_window": here.text.tokens("sliding_window")}
    return Given(here.named(name), number, "DEEPSEEK_SPARSE_SWA", "sliding_window_mla", fields)


def _compressed(here: Here, name: str, number: int, ratio: int) -> Given:
    fields = {**_row(here), "compress_ratio": ratio}
    return Given(here.named(name), number, backend(here), "mla_attention", fields)


def _index_keys(here: Here, name: str, number: int, ratio: int) -> Given:
    size = here.text.count("index_head_dim")
    size = size // 2 + size // 32 if here.setting.arguments.use_fp4_indexer_cache else size + size // 128 * 4
    fields = {"head_size": size, "dtype": "uint8", "alignment": _alignment(here), "compress_ratio": ratio}
    return Given(here.named(name), number, "DEEPSEEK_V4_INDEXER", "mla_attention", fields)


def _states(here: Here, prefix: str, number: int, ratio: int, size: int) -> Given:
    """What a compressor keeps of the tokens that it has not compressed yet; those of 4 overlap, and count twice."""
    twice = 2 if ratio == 4 else 1
    fields = {
        "block_size": STATE_BLOCKS[ratio],
        "head_size": 2 * twice * size,
        "dtype": "float32",
        "sliding_window": twice * ratio,
        "alignment": _alignment(here),
    }
    name = here.named(f"{prefix}.compressor.state_cache")
    return Given(name, number, "CompressorBackend", "sliding_window_mla", fields)
