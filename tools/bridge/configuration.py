"""A stand-in for vLLM's configuration, with what a document says and defaults for what it leaves out."""

import importlib
import types

from bridge.failures import Missing


class Part(types.SimpleNamespace):
    """One of vLLM's configuration objects; what it does not have is missed by name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Missing(f"the stand-in for {self.__dict__.get('_of', 'a configuration')} has no {name!r}")


def vllm_config(document):
    """The configuration of a document's deployment."""
    speculative = document.get("speculative_config") or {}
    tokens = speculative.get("num_speculative_tokens") or 0
    scheduler = scheduler_config(document.get("scheduler_config") or {})
    transfer = document.get("kv_transfer_config")
    extra = {} if transfer is None else transfer.get("kv_connector_extra_config") or {}
    asked = document.get("scheduler_config") or {}
    return Part(
        _of="VllmConfig",
        model_config=model_config(document),
        parallel_config=parallel_config(document.get("parallel_config") or {}),
        cache_config=cache_config(document),
        scheduler_config=scheduler,
        speculative_config=speculative_config(speculative, tokens) if tokens or speculative.get("use_eagle") else None,
        num_speculative_tokens=tokens,
        kv_transfer_config=None if transfer is None else Part(_of="KVTransferConfig", kv_connector_extra_config=extra),
        attention_config=attention_config(),
        compilation_config=Part(_of="CompilationConfig", static_forward_context={}, mode=None),
        max_in_flight_tokens=asked.get("max_in_flight_tokens", scheduler.max_num_batched_tokens),
        max_concurrent_batches=asked.get("max_concurrent_batches", 1),
        mamba_config=Part(_of="MambaConfig"),
        device_config=Part(_of="DeviceConfig", device_type="cuda", device="cuda"),
        num_prefill_lookahead_tokens=0,
        use_v2_model_runner=str(document.get("model_runner") or "v2").lower() == "v2",
        diffusion_config=None,
        lora_config=None,
        kv_events_config=None,
    )


def model_config(document):
    """The model, as far as caches and backends ask."""
    asked = document.get("model_config") or {}
    specs = [group["kv_cache_spec"] for group in (document.get("kv_cache_config") or {}).get("kv_cache_groups") or []]
    specs += list((document.get("kv_cache_specs") or {}).values())
    kv_heads = next((spec["num_kv_heads"] for spec in specs if "num_kv_heads" in spec), 1)
    head_size = next((spec["head_size"] for spec in specs if "head_size" in spec), 0)
    heads = asked.get("num_attention_heads") or kv_heads
    longest = asked.get("max_model_len", 4096)
    return Part(
        _of="ModelConfig",
        max_model_len=longest,
        original_max_model_len=asked.get("original_max_model_len", longest),
        get_num_attention_heads=lambda parallel: heads,
        get_num_kv_heads=lambda parallel: asked.get("num_key_value_heads", kv_heads),
        get_head_size=lambda: head_size,
        is_diffusion=False,
        is_hybrid=False,
        is_mm_prefix_lm=False,
        rswa_window=None,
        use_mla=False,
        supports_kv_cache_grouping=False,
        hf_config=Part(_of="hf_config", model_type=asked.get("model_type", "made-up")),
        hf_text_config=Part(
            _of="hf_text_config", model_type=asked.get("model_type", "made-up"), attn_logit_softcapping=None
        ),
    )


def parallel_config(asked):
    """The ranks."""
    sizes = ("decode_context_parallel_size", "prefill_context_parallel_size", "tensor_parallel_size")
    return Part(
        _of="ParallelConfig",
        **{size: asked.get(size, 1) for size in sizes},
        pipeline_parallel_size=1,
        enable_dbo=False,
        ubatch_size=0,
        use_ubatching=False,
        num_ubatches=1,
        cp_kv_cache_interleave_size=1,
    )


def cache_config(document):
    """The cache."""
    asked = document.get("cache_config") or {}
    return Part(
        _of="CacheConfig",
        num_gpu_blocks_override=None,
        cache_dtype=document.get("cache_dtype", "auto"),
        mamba_cache_mode=asked.get("mamba_cache_mode", "none"),
        enable_prefix_caching=False,
        kv_sharing_fast_prefill=False,
        block_size=asked.get("block_size", 16),
        user_specified_block_size=True,
        kv_cache_layout=None,
        mamba_block_size=None,
        hash_block_size=None,
        prefix_cache_retention_interval=None,
        kv_cache_size_tokens=None,
        kv_cache_max_concurrency=None,
    )


def scheduler_config(asked):
    """The scheduler."""
    tokens = asked.get("max_num_batched_tokens", 8192)
    return Part(
        _of="SchedulerConfig",
        max_num_seqs=asked.get("max_num_seqs", 256),
        max_num_batched_tokens=tokens,
        max_num_encoder_input_tokens=asked.get("max_num_encoder_input_tokens", tokens),
        disable_hybrid_kv_cache_manager=bool(asked.get("disable_hybrid_kv_cache_manager", False)),
        async_scheduling=False,
    )


def speculative_config(asked, tokens):
    """Speculative decoding."""
    return Part(
        _of="SpeculativeConfig",
        num_speculative_tokens=tokens,
        use_eagle=lambda: bool(asked.get("use_eagle", False)),
        method=asked.get("method"),
        parallel_drafting=False,
        enable_adaptive_verification=False,
        disable_padded_drafter_batch=False,
    )


def attention_config():
    """How attention is chosen: nothing is."""
    none = ("use_trtllm_attention", "flash_attn_version", "backend", "backend_per_kind", "hisparse_config")
    no = (
        "use_non_causal", "use_cudnn_prefill", "use_trtllm_ragged_deepseek_prefill", "disable_flashinfer_prefill",
        "use_prefill_decode_attention",
    )  # fmt: skip
    return Part(_of="AttentionConfig", **dict.fromkeys(none), **dict.fromkeys(no, False))


def set_current(config):
    """Put a configuration in force."""
    home = importlib.import_module("vllm.config.vllm")
    home._current_vllm_config = config
    cached = getattr(home, "get_cached_compilation_config", None)
    if hasattr(cached, "cache_clear"):
        cached.cache_clear()
