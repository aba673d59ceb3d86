"""Environment variables with a name like vLLM's that a release does not read, and what to do instead."""

from __future__ import annotations

from collections.abc import Mapping

from kvinspect.data.catalogue import versions
from kvinspect.data.duties import VARIABLES, names

ALIKE = 0.9
"""From which likeness on a name is taken for a slip, and not for one of the deployment's own."""

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


def is_ignored(name: str, version: str) -> bool:
    """Whether a release ignores a variable that looks like one of vLLM's."""
    return name.startswith("VLLM_") and name not in names(version)[VARIABLES]


def why_ignored(name: str, version: str) -> str:
    """What became of a variable that the release ignores, "" where it may be the deployment's own."""
    others = [other for other in versions() if name in names(other)[VARIABLES]]
    if others:
        return f"read by {', '.join(others)}"
    if name in REMOVED:
        return REMOVED[name] or "remove it"
    import difflib

    near = difflib.get_close_matches(name, sorted(names(version)[VARIABLES]), 1, ALIKE)
    return f"did you mean {near[0]}?" if near else ""
