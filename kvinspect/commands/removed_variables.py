"""Environment variables of vLLM that no release in the catalogue reads any more."""

from __future__ import annotations

from collections.abc import Mapping

REMOVED: Mapping[str, str] = {
    "VLLM_USE_V1": "there is one engine, and it is that one",
    "VLLM_ATTENTION_BACKEND": "use --attention-backend",
    "VLLM_ALL2ALL_BACKEND": "use --all2all-backend",
    "VLLM_FLASH_ATTN_VERSION": "use --attention-config.flash_attn_version",
    "VLLM_USE_TRITON_FLASH_ATTN": "use --attention-backend",
    "VLLM_FLASHINFER_FORCE_TENSOR_CORES": "",
    "VLLM_V1_USE_PREFILL_DECODE_ATTENTION": "use --attention-backend",
    "VLLM_TORCH_PROFILER_DIR": "use --profiler-config",
    "VLLM_ALLOW_DEPRECATED_BLOCK_MANAGER_V1": "",
    "VLLM_ENGINE_ITERATION_TIMEOUT_S": "",
    "VLLM_CONTIGUOUS_PA": "",
    "VLLM_TEST_FORCE_FP8_MARLIN": "",
    "VLLM_USE_RAY_SPMD_WORKER": "",
    "VLLM_USE_RAY_COMPILED_DAG": "",
    "VLLM_LORA_ENABLE_DUAL_STREAM": "",
}
"""Name → what to do instead, "" where nothing is left to say. What a release still reads counts as its own."""
