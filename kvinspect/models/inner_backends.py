"""Backends that a model's own classes bring along, which no list of a platform and no catalogue of a release has.

Facts are those of the classes' `get_kv_cache_shape`, `get_kv_cache_stride_order` and
`get_supported_kernel_block_sizes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

PLAIN = ("num_blocks", "block_size", "head_size")
PACKED = ("num_blocks", "block_size", "584")
"""Rows of DeepSeek V4's own format: 448 bytes without rotation, 128 with it, 8 of scales."""


def _entry(
    cls: str,
    module: str,
    sizes: Any,
    shapes: Sequence[Mapping[str, Any]] | None = None,
    layouts: Sequence[str] | None = None,
) -> dict[str, Any]:
    return {
        "class": cls,
        "module": f"vllm.{module}",
        "kv_cache_shape": shapes or [{"shape": list(PLAIN)}],
        "kv_cache_stride_order": {"NHD": [0, 1, 2], "HND": [0, 1, 2]},
        "supported_kernel_block_sizes": sizes,
        "supported_kv_cache_layouts": layouts,
    }


_BY_PLATFORM = {"rules": [{"if": {"platform": "rocm"}, "value": [1, 64]}, {"value": [64]}]}
_BY_DTYPE: list[dict[str, Any]] = [{"if": {"cache_dtype": "fp8_ds_mla"}, "shape": list(PACKED)}, {"shape": list(PLAIN)}]
_MLA = "v1.attention.backends.mla"
_INDEX_IN_BLOCKS = ("BLHNC", "BLNHC")
"""From 0.29 on: DeepSeek V4's index lies beside the latents inside each block."""

INNER: Mapping[str, Mapping[str, Any]] = {
    "DEEPSEEK_V32_INDEXER": _entry("DeepseekV32IndexerBackend", f"{_MLA}.indexer", _BY_PLATFORM),
    "DEEPSEEK_V4_INDEXER": _entry("DeepseekV4IndexerBackend", f"{_MLA}.indexer", [256], layouts=_INDEX_IN_BLOCKS),
    "DEEPSEEK_SPARSE_SWA": {
        **_entry("DeepseekSparseSWABackend", f"{_MLA}.sparse_swa", ["64n"], _BY_DTYPE),
        "preferred_block_size": 256,
    },
    "MINIMAX_M3_SPARSE_INDEXER": _entry("MiniMaxM3IndexerBackend", "models.minimax_m3.common.indexer", [128]),
    "INKLING_SCONV_SWA": {
        **_entry("InklingSconvBackend", "models.inkling.nvidia.sconv_swa_attn", ["1n"]),
        "indexes_kv_by_block_stride": {"NHD": True, "HND": True},
    },
    "CompressorBackend": _entry("CompressorBackend", "models.deepseek_v4.compressor", ["1n"]),
}
"""Name → entry, as a catalogue has them."""


def as_document(name: str, cache_dtype: str, platform: str) -> dict[str, Any]:
    """The backend as a document defines one of its own."""
    entry = INNER[name]
    shape = next(
        rule["shape"]
        for rule in entry["kv_cache_shape"]
        if rule.get("if", {}).get("cache_dtype") in (None, cache_dtype)
    )
    sizes = entry["supported_kernel_block_sizes"]
    if isinstance(sizes, Mapping):
        sizes = next(rule["value"] for rule in sizes["rules"] if rule.get("if", {}).get("platform") in (None, platform))
    layouts = entry["supported_kv_cache_layouts"]
    return {
        **({"supported_kv_cache_layouts": list(layouts)} if layouts else {}),
        "kv_cache_shape": [int(dim) if dim.isdigit() else dim for dim in shape],
        "kv_cache_stride_order": [0, 1, 2],
        "supported_kernel_block_sizes": list(sizes),
        "cudagraph_support": "UNIFORM_BATCH",
    }
