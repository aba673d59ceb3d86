"""What of a deployment the planner looks at, besides the layers' specs and the memory."""

from __future__ import annotations

from typing import NamedTuple

from kvinspect.document.model import DocumentModel, SpeculativeEntry
from kvinspect.engine.layout.layouts import Layout
from kvinspect.provenance import vllm


class Deployment(NamedTuple):
    """Lengths in tokens. `context_shards` is over how many ranks the tokens of full attention are spread."""

    max_model_len: int
    auto_fit: bool
    max_in_flight_tokens: int
    max_num_encoder_input_tokens: int
    context_shards: int
    decode_shards: int
    mamba_cache_mode: str
    disable_hybrid_kv_cache_manager: bool
    cross_layers: bool
    num_gpu_blocks_override: int | None
    extra_retained_tokens: int
    use_eagle: bool
    jit_warmup: bool = True
    """Whether kernels are compiled ahead for the strides of the cache, which then have to be whole rows (0.30 on)."""
    residents_in_flight: bool = True
    """Whether HiSparse keeps as many pages resident as tokens in flight fill, not all of a request's tokens (0.33)."""
    layout: Layout | None = None
    """The layout in force, where the release has one for the whole cache."""


@vllm("FullAttentionSpec.max_memory_usage_bytes", until="0.25")
def of_settled_batches(model: DocumentModel) -> Deployment:
    """0.25: one batch is in flight, and prefill ranks share the tokens as well (`FullAttentionSpec`)."""
    parallel = model.parallel_config
    shards = parallel.decode_context_parallel_size * parallel.prefill_context_parallel_size
    return _deployment(model)._replace(
        context_shards=shards, max_in_flight_tokens=model.scheduler_config.max_num_batched_tokens
    )


@vllm("VllmConfig.max_in_flight_tokens", since="0.26", until="0.29")
def of_batches_in_flight(model: DocumentModel) -> Deployment:
    """From 0.26 on every concurrent batch may hold its tokens (`VllmConfig.max_in_flight_tokens`)."""
    return _deployment(model)


@vllm("HiSparseResidentSpec.max_memory_usage_bytes", since="0.30", until="0.30")
def of_resident_pages(model: DocumentModel) -> Deployment:
    """0.30: HiSparse keeps a page of every token resident (`HiSparseResidentSpec.max_memory_usage_bytes`)."""
    return _deployment(model)._replace(residents_in_flight=False)


@vllm("MambaSpec.max_memory_usage_bytes", since="0.33")
def of_resident_states(model: DocumentModel) -> Deployment:
    """0.33: no mode keeps a state for every block of tokens any more (`MambaSpec.max_memory_usage_bytes`)."""
    found = _deployment(model)
    return found._replace(mamba_cache_mode="none") if found.mamba_cache_mode == "all" else found


def _deployment(model: DocumentModel) -> Deployment:
    scheduler, parallel, speculative = model.scheduler_config, model.parallel_config, model.speculative_config
    batches = scheduler.max_concurrent_batches * scheduler.max_num_batched_tokens
    encoder = scheduler.max_num_encoder_input_tokens
    extra = model.kv_transfer_config.kv_connector_extra_config.get("enable_cross_layers_blocks", "")
    return Deployment(
        max_model_len=model.model_config.max_model_len,
        auto_fit=model.model_config.original_max_model_len == -1,
        max_in_flight_tokens=scheduler.max_in_flight_tokens or batches,
        max_num_encoder_input_tokens=scheduler.max_num_batched_tokens if encoder is None else encoder,
        context_shards=parallel.decode_context_parallel_size,
        decode_shards=parallel.decode_context_parallel_size,
        mamba_cache_mode=model.cache_config.mamba_cache_mode,
        disable_hybrid_kv_cache_manager=scheduler.disable_hybrid_kv_cache_manager,
        cross_layers=str(extra).lower() == "true",
        num_gpu_blocks_override=model.num_gpu_blocks_override,
        extra_retained_tokens=read_again(speculative),
        use_eagle=uses_eagle(speculative),
        jit_warmup=model.kernel_config.enable_jit_warmup,
    )


def read_again(speculative: SpeculativeEntry) -> int:
    """Tokens behind a window that the draft's modules read again, each one further ahead than the one before."""
    modules, tokens = speculative.draft_model_config.num_nextn_predict_layers, speculative.num_speculative_tokens
    return tokens - 1 if speculative.method == "mtp" and min(modules, tokens) > 1 else 0


def uses_eagle(speculative: SpeculativeEntry) -> bool:
    """Whether drafts come from layers of their own (`SpeculativeConfig.use_eagle`)."""
    return speculative.use_eagle or speculative.method in ("eagle", "eagle3", "mtp", "dflash", "dspark")
