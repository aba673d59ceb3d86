"""The lines about the KV cache that the engine logs at start-up."""

from __future__ import annotations

from collections.abc import Callable

from kvinspect.provenance import vllm

LogLines = Callable[[int, int, float, str], list[str]]
"""(tokens, longest request in tokens, concurrent requests, platform) → lines."""


@vllm("get_kv_cache_configs", until="0.27")
def two_lines(num_tokens: int, max_model_len: int, concurrency: float, platform: str) -> list[str]:
    """Up to 0.27 (`get_kv_cache_configs`)."""
    return [
        f"GPU KV cache size: {num_tokens:,} tokens",
        f"Maximum concurrency for {max_model_len:,} tokens per request: {concurrency:.2f}x",
    ]


@vllm("update_kv_cache_capacity", since="0.28", until="0.29")
def one_line(num_tokens: int, max_model_len: int, concurrency: float, platform: str) -> list[str]:
    """0.28 and 0.29 (`update_kv_cache_capacity`)."""
    return [", ".join(two_lines(num_tokens, max_model_len, concurrency, platform))]


@vllm("update_kv_cache_capacity", since="0.30")
def line_with_device(num_tokens: int, max_model_len: int, concurrency: float, platform: str) -> list[str]:
    """From 0.30 on the line names the device; torch calls AMD's cuda as well."""
    device = "GPU" if platform in ("cuda", "rocm") else platform.upper()
    return [line.replace("GPU", device, 1) for line in one_line(num_tokens, max_model_len, concurrency, platform)]
