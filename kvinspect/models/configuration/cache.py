"""What the configuration of the cache refuses: its dtype, and how states are kept."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.arguments import argument
from kvinspect.models.configuration.call import Call, Rule, Stop
from kvinspect.provenance import vllm


@vllm("VllmConfig._reject_mismatched_float_kv_cache", since="0.33")
def cache_in_the_models_dtype(call: Call) -> Iterator[Stop]:
    """A cache of 16-bit floats has the model's dtype (0.33)."""
    cache, dtype = call.setting.cache_dtype, call.setting.dtype
    if cache in ("float16", "bfloat16") and cache != dtype:
        yield Stop("kv_cache_dtype", f"kv_cache_dtype {cache} does not go with the model's {dtype}; take auto")


@vllm("MambaModelConfig.verify_and_update_config")
def states_of_chunks(call: Call) -> Iterator[Stop]:
    """States of prefixes are kept at the ends of chunks."""
    setting = call.setting
    if setting.is_hybrid and setting.mamba_cache_mode == "align" and not setting.chunked_prefill:
        yield Stop("enable_chunked_prefill", "prefix caching of state-space layers needs chunked prefill")


@vllm("VllmConfig.validate_block_size", until="0.26")
def a_block_of_states_is_one_batch(call: Call) -> Iterator[Stop]:
    """A block that states are aligned to is no longer than a batch or a long prefill (0.25, 0.26)."""
    size, setting = call.stage.specs.blocks.block_size, call.setting
    if setting.mamba_cache_mode != "align":
        return
    if size > call.batches[0]:
        text = f"max_num_batched_tokens {call.batches[0]} is below the block size {size}, to which states are aligned"
        yield Stop("max_num_batched_tokens", text)
    threshold = call.whole("long_prefill_token_threshold") or 0
    if 0 < threshold < size:
        text = f"long_prefill_token_threshold {threshold} is below the block size {size}, to which states are aligned"
        yield Stop("long_prefill_token_threshold", text)


@vllm("VllmConfig.validate_block_size")
def inputs_in_chunks(call: Call) -> Iterator[Stop]:
    """Aligned states need inputs that may be cut anywhere."""
    if call.setting.mamba_cache_mode == "align" and call.is_on("disable_chunked_mm_input"):
        text = "disable_chunked_mm_input does not go with states that are aligned to blocks (mamba_cache_mode align)"
        yield Stop("disable_chunked_mm_input", text)


@vllm("VllmConfig.validate_block_size")
def tokens_in_turn(call: Call) -> Iterator[Stop]:
    """Ranks of context parallelism take tokens in turn, in runs that blocks are made of."""
    size, contexts = call.stage.specs.blocks.block_size, call.arguments.decode_context_parallel_size
    by_nixl = call.transfer is not None and any(one.name == "NixlConnector" for one in call.transfer.ends)
    run, newer = call.whole("dcp_kv_cache_interleave_size") or 1, call.whole("cp_kv_cache_interleave_size") or 1
    run = run if run > 1 else newer
    if contexts > 1 and not by_nixl and size % run:
        yield Stop("cp_kv_cache_interleave_size", f"the block size {size} is no multiple of runs of {run} tokens")


@vllm("VllmConfig.__post_init__")
def rounded_states(call: Call) -> Iterator[Stop]:
    """States that are rounded at random are float16."""
    config = argument(call.written, "mamba_config")
    wanted = call.is_on("enable_mamba_cache_stochastic_rounding")
    wanted = wanted or (hasattr(config, "get") and config.get("enable_stochastic_rounding") is True)
    if wanted and call.arguments.mamba_ssm_cache_dtype != "float16":
        text = "enable_mamba_cache_stochastic_rounding needs mamba_ssm_cache_dtype float16"
        yield Stop("enable_mamba_cache_stochastic_rounding", text)


RULES: tuple[Rule, ...] = (
    cache_in_the_models_dtype, states_of_chunks, a_block_of_states_is_one_batch, inputs_in_chunks, tokens_in_turn,
    rounded_states,
)  # fmt: skip
