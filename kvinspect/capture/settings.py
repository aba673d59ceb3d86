"""The engine's configuration as far as a document has a word for it: no prompts, no paths, no free text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvinspect.capture.spec_entries import plain

Read = Callable[[Any], Any]


def _field(name: str) -> Read:
    return lambda config: getattr(config, name, None)


def _called(name: str) -> Read:
    return lambda config: getattr(config, name)()


COMPILATION: dict[str, Read] = {
    "mode": _field("mode"),
    "splitting_ops_contain_attention": _called("splitting_ops_contain_attention"),
    "use_inductor_graph_partition": _field("use_inductor_graph_partition"),
    "cudagraph_capture_sizes": _field("cudagraph_capture_sizes"),
    "max_cudagraph_capture_size": lambda config: config.max_cudagraph_capture_size or None,
}
SPECULATION: dict[str, Read] = {
    "num_speculative_tokens": _field("num_speculative_tokens"),
    "method": _field("method"),
    "use_eagle": lambda config: bool(config.use_eagle()),
}
SCHEDULER: dict[str, Read] = {
    "max_num_seqs": _field("max_num_seqs"),
    "max_num_batched_tokens": _field("max_num_batched_tokens"),
    "max_num_encoder_input_tokens": _field("max_num_encoder_input_tokens"),
    "disable_hybrid_kv_cache_manager": _field("disable_hybrid_kv_cache_manager"),
}
CACHE: dict[str, Read] = {"mamba_cache_mode": _field("mamba_cache_mode"), "block_size": _field("block_size")}
ATTENTION: dict[str, Read] = {
    "use_trtllm_attention": _field("use_trtllm_attention"),
    "use_non_causal": _field("use_non_causal"),
    "flash_attn_version": _field("flash_attn_version"),
}
KERNEL: dict[str, Read] = {"enable_jit_warmup": _field("enable_jit_warmup")}
PARALLEL: dict[str, Read] = {
    name: _field(name)
    for name in (
        "decode_context_parallel_size",
        "prefill_context_parallel_size",
        "tensor_parallel_size",
        "pipeline_parallel_size",
    )
}
TRANSFER: dict[str, Read] = {"kv_connector": _field("kv_connector")}


def of(vllm_config: Any, requested_mode: Any) -> dict[str, Any]:
    """The sections of a document that come from `VllmConfig`; `cudagraph_mode` is the requested one."""
    return {
        "compilation_config": {
            **_read(vllm_config.compilation_config, COMPILATION),
            **({} if requested_mode is None else {"cudagraph_mode": plain(requested_mode)}),
        },
        "speculative_config": _read(vllm_config.speculative_config, SPECULATION),
        "scheduler_config": _read(vllm_config.scheduler_config, SCHEDULER),
        "model_config": _model(vllm_config),
        "attention_config": _read(getattr(vllm_config, "attention_config", None), ATTENTION),
        "kernel_config": _read(getattr(vllm_config, "kernel_config", None), KERNEL),
        "cache_config": _read(vllm_config.cache_config, CACHE),
        "parallel_config": _read(vllm_config.parallel_config, PARALLEL),
        "kv_transfer_config": _read(getattr(vllm_config, "kv_transfer_config", None), TRANSFER),
    }


def _model(vllm_config: Any) -> dict[str, Any]:
    parallel = vllm_config.parallel_config
    table: dict[str, Read] = {
        "num_attention_heads": lambda model: model.get_num_attention_heads(parallel) or None,
        "num_key_value_heads": lambda model: model.get_num_kv_heads(parallel) or None,
        "max_model_len": _field("max_model_len"),
        "model_type": lambda model: model.hf_config.model_type,
    }
    return _read(vllm_config.model_config, table)


def _read(config: Any, table: Mapping[str, Read]) -> dict[str, Any]:
    """What a configuration has of a table; a field that a release does not have is left out."""
    found = {}
    for name, read in table.items() if config is not None else ():
        try:
            value = plain(read(config))
        except Exception:
            continue
        if value is not None:
            found[name] = value
    return found
