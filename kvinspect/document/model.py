"""What a document may say: a pydantic model of every mapping in it, as plain dataclasses.

The names are vLLM's own, so that a dump of the engine's dataclasses can be pasted in. `compile.py` turns these classes
into the validator that `load.py` runs, and `schema.py` into the JSON Schema that editors use.
"""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Literal

from kvinspect.document.captured import CapturedEntry
from kvinspect.document.entry import Entry, entry
from kvinspect.document.limits import MAX_DIMS
from kvinspect.document.words import (
    KIND_OF_WORD,
    Capability,
    CompilationMode,
    CUDAGraphMode,
    DType,
    EnumWord,
    Flag,
    Layout,
    MambaCacheMode,
    NotNegative,
    Platform,
    Positive,
    QuantMode,
    Rule,
    SupportLevel,
    Version,
    Word,
)

_SIZE = "num_blocks|block_size|num_kv_heads|head_size|[1-9][0-9]{0,8}"
_PRODUCT = Annotated[Word, Rule(pattern=rf"^ *({_SIZE})( *\* *({_SIZE}))* *$")]
ShapeEntry = Annotated[
    Positive | _PRODUCT, Rule("num_blocks, block_size, num_kv_heads, head_size or a product such as 2*head_size")
]
BlockSize = Annotated[
    Positive | Annotated[Word, Rule(pattern=r"^[1-9]\d{0,8}n$")], Rule("64 is that size alone, 16n any multiple of 16")
]
TokensPerState = Annotated[int, Rule(strict=True, ge=-1)] | Annotated[Word, Rule(pattern=r"^1/[1-9]\d{0,8}$")]
Order = list[NotNegative]
Shape = Annotated[list[Positive], Rule(max_length=MAX_DIMS)]
LegacyLayout = Literal["NHD", "HND"]
RunLengths = Annotated[str, Rule(strict=True, max_length=100_000, pattern=r"^\s*\d{1,9}x[01](\s+\d{1,9}x[01])*\s*$")]


@entry
class SpecEntry(Entry):
    """A KV cache spec of any kind; `spec_fields.py` says which fields belong to which kind.

    A field that only some releases know stands here all the same; the engine of a release says whether it takes it.
    """

    kind: Word | None = None
    type: Word | None = None
    backend: Annotated[Word | None, Rule("in a planning document: the layer's attention backend")] = None
    block_size: Annotated[Positive | None, Rule("tokens in a block of the block manager")] = None
    num_kv_heads: Positive | None = None
    head_size: Annotated[Positive | None, Rule("elements of one head's key")] = None
    head_size_v: Annotated[NotNegative | None, Rule("elements of one head's value, where it differs")] = None
    dtype: DType | None = None
    kv_quant_mode: QuantMode | None = None
    page_size_padded: Annotated[Positive | None, Rule("bytes of a page, its padding included")] = None
    indexes_kv_by_block_stride: Flag | None = None
    num_head_slots: Positive | None = None
    state_content_bytes: Positive | None = None
    sliding_window: Annotated[Positive | None, Rule("tokens")] = None
    extra_retained_tokens: NotNegative | None = None
    attention_chunk_size: Positive | None = None
    non_causal: Flag | None = None
    sink_len: NotNegative | None = None
    rswa_window: Positive | None = None
    tq_slot_size: NotNegative | None = None
    cache_dtype_str: Word | None = None
    alignment: Annotated[Positive | None, Rule("bytes that a page is rounded up to")] = None
    compress_ratio: Positive | None = None
    model_version: Word | None = None
    non_causal_multi_token_decode: Flag | None = None
    shapes: Annotated[list[Shape] | None, Rule("the shape of each state of one request")] = None
    dtypes: Annotated[list[DType] | None, Rule("the dtype of each state")] = None
    mamba_type: EnumWord | None = None
    mamba_cache_mode: MambaCacheMode | None = None
    num_speculative_blocks: NotNegative | None = None
    tokens_per_state: Annotated[TokensPerState | None, Rule("tokens that one stored state covers, or 1/2 of one")] = (
        None
    )
    dcp_sharded: Annotated[Flag | None, Rule("whether decode context parallelism shards the cache")] = None
    block_stride_alignment: Annotated[
        BlockSize | None,
        Rule("bytes between blocks are a multiple of it; 64n: of whole kernel blocks of up to 64 tokens"),
    ] = None
    storage_block_size: Annotated[Positive | None, Rule("tokens of a block in the view, where kernels take others")] = (
        None
    )
    max_tp_shards: Positive | None = None
    topk_buffer_width: Positive | None = None
    cache_role: Word | None = None
    is_index_group_leader: Flag | None = None
    bounded_replay: Flag | None = None
    is_draft: Flag | None = None
    num_prefill_checkpoint_blocks: NotNegative | None = None
    prefill_checkpoint_alignment: Positive | None = None
    num_heads: Positive | None = None
    page_size: Annotated[Positive | None, Rule("bytes of a page of HiSparse")] = None
    blocks_per_request: Annotated[NotNegative | None, Rule("pages of HiSparse that a request keeps")] = None
    tp_replicated: Flag | None = None
    kv_cache_specs: Annotated[
        dict[Word, SpecEntry] | None, Rule("uniform_type: layer name → its spec; at least one")
    ] = None

    @property
    def spec_kind(self) -> str:
        """Its kind, under whichever name it is written."""
        return KIND_OF_WORD[self.kind or self.type or ""]


@entry
class BackendEntry(Entry):
    """An out-of-tree backend."""

    kv_cache_shape: Annotated[
        list[ShapeEntry] | None, Rule("up to 0.28, where the backend shapes its own cache", max_length=MAX_DIMS)
    ] = None
    supported_kv_cache_layouts: Annotated[
        list[Layout] | None,
        Rule("from 0.29 on: the layouts its kernels read, most preferred first; absent: any", min_length=1),
    ] = None
    kv_cache_stride_order: Annotated[
        dict[LegacyLayout, Order] | Order | None,
        Rule("the dims in memory order, by layout or once for all; absent: as in the shape"),
    ] = None
    supported_kernel_block_sizes: Annotated[list[BlockSize] | None, Rule("absent: any size")] = None
    cudagraph_support: SupportLevel = "NEVER"
    loads_by_tma: Annotated[Flag, Rule("whether its kernels load by the tensor memory accelerator")] = False


@entry
class GroupEntry(Entry):
    """Layers that share one block table."""

    layer_names: list[Word]
    kv_cache_spec: SpecEntry
    backend: Annotated[Word | None, Rule("the attention backend of all layers of the group")] = None
    is_eagle_group: Flag = False


@entry
class TensorEntry(Entry):
    """One allocation, and the layers on it."""

    size: Annotated[Positive, Rule("bytes")]
    shared_by: Annotated[list[Word] | None, Rule("the layers; called layers from 0.29 on")] = None
    layers: Annotated[list[Word] | None, Rule("the layers, as shared_by")] = None
    offset: Annotated[NotNegative, Rule("bytes to its first layer's block 0")] = 0
    block_stride: Annotated[NotNegative, Rule("bytes from block to block; up to 0.28, 0: not packed")] = 0
    layer_stride: Annotated[NotNegative | None, Rule("bytes from layer to layer, from 0.29 on")] = None
    host_resident: Literal[False] = False


@entry
class KVCacheConfigEntry(Entry):
    """A finished KV cache configuration, as vLLM's `KVCacheConfig`."""

    num_blocks: Positive
    kv_cache_groups: list[GroupEntry]
    kv_cache_tensors: Annotated[list[TensorEntry] | None, Rule("absent: placed by vLLM's own rule")] = None


@entry
class AttentionGroupEntry(Entry):
    """Layers of one KV cache group that run on one backend."""

    backend: Word
    layer_names: list[Word]
    kv_cache_group_id: NotNegative
    num_heads_q: NotNegative | None = None


@entry
class EncoderGroupEntry(Entry):
    """Encoder-only layers, which stand outside the KV cache."""

    backend: Word
    layer_names: list[Word] = field(default_factory=list)
    kv_cache_spec: SpecEntry | None = None
    num_heads_q: NotNegative | None = None


@entry
class PassEntry(Entry):
    """The fields of vLLM's `PassConfig` that decide which model runner is chosen."""

    enable_sp: Annotated[Flag, Rule("sequence parallelism")] = False


@entry
class CompilationEntry(Entry):
    """The fields of vLLM's `CompilationConfig` that decide about CUDA graphs."""

    mode: CompilationMode = "VLLM_COMPILE"
    cudagraph_mode: CUDAGraphMode | None = "FULL_AND_PIECEWISE"
    splitting_ops_contain_attention: Flag = True
    use_inductor_graph_partition: Flag = False
    cudagraph_capture_sizes: list[Positive] | None = None
    max_cudagraph_capture_size: Positive | None = None
    pass_config: PassEntry = field(default_factory=PassEntry)


@entry
class DraftEntry(Entry):
    """The fields of a draft model's configuration that decide which model runner is chosen."""

    architectures: list[Word] = field(default_factory=list)
    layer_types: Annotated[list[Word], Rule("as in its config.json, for instance sliding_attention")] = field(
        default_factory=list
    )
    num_nextn_predict_layers: Positive = 1


@entry
class SpeculativeEntry(Entry):
    """The fields of vLLM's `SpeculativeConfig` on which the KV cache depends."""

    num_speculative_tokens: NotNegative = 0
    method: Word | None = None
    use_eagle: Flag = False
    parallel_drafting: Flag = False
    use_heterogeneous_vocab: Flag = False
    enable_adaptive_verification: Flag = False
    draft_model_config: DraftEntry = field(default_factory=DraftEntry)


@entry
class SchedulerEntry(Entry):
    """The fields of vLLM's `SchedulerConfig` on which the KV cache depends."""

    max_num_seqs: Positive = 256
    max_num_batched_tokens: Positive = 8192
    max_num_encoder_input_tokens: NotNegative | None = None
    max_concurrent_batches: Positive = 1
    max_in_flight_tokens: Positive | None = None
    disable_hybrid_kv_cache_manager: Flag = False


@entry
class ModelEntry(Entry):
    """The fields of vLLM's `ModelConfig` on which the KV cache depends; heads are those of one worker."""

    num_attention_heads: Positive | None = None
    num_key_value_heads: Positive | None = None
    max_model_len: Positive = 4096
    original_max_model_len: Annotated[int, Rule(strict=True, ge=-1)] | None = None
    model_type: Word | None = None
    architectures: Annotated[list[Word] | None, Rule("as in the model's config.json")] = None
    runner_type: Literal["generate", "pooling", "draft"] | None = None
    is_moe: Annotated[Flag | None, Rule("whether it is a mixture of experts")] = None
    is_hybrid: Annotated[Flag | None, Rule("attention and state-space layers; absent: as the specs say")] = None
    is_attention_free: Annotated[Flag | None, Rule("absent: as the specs say")] = None
    is_diffusion: Flag | None = None
    logits_processors: list[Word] | None = None
    logprobs_mode: Word | None = None
    enable_prompt_embeds: Flag = False
    enable_return_routed_experts: Flag = False


@entry
class AttentionConfigEntry(Entry):
    """The fields of vLLM's `AttentionConfig` on which a backend's answers depend."""

    use_trtllm_attention: Flag | None = None
    use_non_causal: Flag = False
    flash_attn_version: Literal[2, 3, 4] | None = None


@entry
class KernelEntry(Entry):
    """The fields of vLLM's `KernelConfig` on which the binding of a cache depends."""

    enable_jit_warmup: Annotated[Flag, Rule("kernels are compiled ahead for the cache's strides (0.30 on)")] = True


@entry
class CacheEntry(Entry):
    """The fields of vLLM's `CacheConfig` on which planning depends."""

    mamba_cache_mode: MambaCacheMode = "none"
    block_size: Positive | None = None
    kv_sharing_fast_prefill: Flag = False


@entry
class ParallelEntry(Entry):
    """The fields of vLLM's `ParallelConfig` on which planning depends."""

    decode_context_parallel_size: Positive = 1
    prefill_context_parallel_size: Positive = 1
    tensor_parallel_size: Positive = 1
    pipeline_parallel_size: Positive = 1
    distributed_executor_backend: Word | None = None
    enable_dbo: Flag = False
    enable_elastic_ep: Flag = False


@entry
class TransferEntry(Entry):
    """The KV connector."""

    kv_connector: Word | None = None
    kv_connector_extra_config: dict[Word, Any] = field(default_factory=dict)


@entry
class PlaceholderEntry(Entry):
    """Where a multimodal item stands in the prompt, in tokens."""

    offset: NotNegative
    length: NotNegative
    is_embed: Annotated[
        list[Flag] | list[NotNegative] | RunLengths | None,
        Rule("a mask, the indices that are embedded, or run lengths such as 3x0 256x1 1x0"),
    ] = None


@entry
class FeatureEntry(Entry):
    """One multimodal item of a request."""

    modality: Word
    mm_position: PlaceholderEntry


@entry
class RequestEntry(Entry):
    """One request and its multimodal items in the order in which they stand."""

    req_id: Word
    mm_features: list[FeatureEntry] = field(default_factory=list)
    num_prompt_tokens: Positive | None = None


@entry
class MultimodalEntry(Entry):
    """What the bidirectional ranges of a batch depend on."""

    sliding_window: Positive | None = None
    mm_prefix_clamp_sliding_window: Annotated[
        Flag, Rule("whether the model cuts ranges at the window, so that none is skipped (0.33)")
    ] = False
    mm_prefix_span_leading_pad_modulus: Annotated[
        NotNegative, Rule("tokens to whose multiples the model pads before a span, 0: none (0.33)")
    ] = 0
    requests: list[RequestEntry] = field(default_factory=list)


@entry
class DocumentModel(Entry):
    """An inspection document."""

    engine: Annotated[Version | None, Rule("the vLLM release whose rules apply, for instance 0.27")] = None
    model_runner: Annotated[Literal["v2", "v1", "auto"], Rule("auto: the one that the release picks for the model")] = (
        "auto"
    )
    platform: Platform = "cuda"
    device_capability: Annotated[Capability | None, Rule("for instance 9.0; on ROCm 9.4 is gfx942")] = None
    cache_dtype: Annotated[Word, Rule("--kv-cache-dtype")] = "auto"
    kv_cache_layout: Layout | None = None
    kv_cache_config: KVCacheConfigEntry | None = None
    attention_groups: list[AttentionGroupEntry] | None = None
    encoder_attention_groups: list[EncoderGroupEntry] = field(default_factory=list)
    shared_kv_cache_layers: Annotated[dict[Word, Word], Rule("KV-sharing layer → the layer whose cache it uses")] = (
        field(default_factory=dict)
    )
    kernel_block_sizes: Annotated[list[Positive] | None, Rule("absent: chosen by vLLM's rule")] = None
    compilation_config: CompilationEntry = field(default_factory=CompilationEntry)
    speculative_config: SpeculativeEntry = field(default_factory=SpeculativeEntry)
    scheduler_config: SchedulerEntry = field(default_factory=SchedulerEntry)
    model_config: ModelEntry = field(default_factory=ModelEntry)
    attention_config: AttentionConfigEntry = field(default_factory=AttentionConfigEntry)
    kernel_config: KernelEntry = field(default_factory=KernelEntry)
    cache_config: CacheEntry = field(default_factory=CacheEntry)
    parallel_config: ParallelEntry = field(default_factory=ParallelEntry)
    kv_transfer_config: TransferEntry = field(default_factory=TransferEntry)
    ec_transfer_config: Annotated[dict[Word, Any] | None, Rule("the encoder cache connector")] = None
    lora_config: dict[Word, Any] | None = None
    backends: Annotated[dict[Word, BackendEntry], Rule("out-of-tree backends by name")] = field(default_factory=dict)
    multimodal: MultimodalEntry | None = None
    kv_cache_specs: Annotated[
        dict[Word, SpecEntry] | None, Rule("a planning document: layer name → spec, in place of kv_cache_config")
    ] = None
    available_memory: Annotated[list[NotNegative] | None, Rule("bytes for the cache, one entry a worker")] = None
    worker_layers: Annotated[
        list[list[Word]] | None, Rule("the layers of each worker, as pipeline stages hold them; absent: all of them")
    ] = None
    num_gpu_blocks_override: Positive | None = None
    captured: Annotated[CapturedEntry | None, Rule("what a running engine made, as kvinspect's plugin wrote it")] = None
