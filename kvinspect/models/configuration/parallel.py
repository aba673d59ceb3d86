"""What the parallel configuration refuses: ranks that cannot share what there is."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.configuration.call import Call, Rule, Stop
from kvinspect.models.drafting import has_experts
from kvinspect.provenance import vllm


@vllm("ParallelConfig._validate_parallel_config", since="0.26")
def contexts_divide_ranks(call: Call) -> Iterator[Stop]:
    """The same where prefills have no context parallelism of their own (0.26 on)."""
    if call.arguments.prefill_context_parallel_size == 1:
        yield from contexts_always_divide_ranks(call)


@vllm("ParallelConfig._validate_parallel_config", until="0.25")
def contexts_always_divide_ranks(call: Call) -> Iterator[Stop]:
    """Ranks of decode context parallelism are groups of those of tensor parallelism (0.25)."""
    ranks, contexts = call.arguments.tensor_parallel_size, call.arguments.decode_context_parallel_size
    if ranks % contexts:
        text = f"tensor_parallel_size {ranks} is no multiple of decode_context_parallel_size {contexts}"
        yield Stop("decode_context_parallel_size", text)


@vllm("ParallelConfig._validate_parallel_config", since="0.26")
def contexts_span_an_axis(call: Call) -> Iterator[Stop]:
    """Beside prefill context parallelism that of decodes has 1 rank, as many, or all (0.26 on)."""
    arguments = call.arguments
    ranks, prefill = arguments.tensor_parallel_size, arguments.prefill_context_parallel_size
    sizes = sorted({1, prefill, ranks * prefill})
    if prefill > 1 and arguments.decode_context_parallel_size not in sizes:
        found = f"decode_context_parallel_size is {arguments.decode_context_parallel_size}"
        text = f"{found}, and beside prefill_context_parallel_size {prefill} one of {', '.join(map(str, sizes))}"
        yield Stop("decode_context_parallel_size", text)


@vllm("ParallelConfig._validate_parallel_config", since="0.26", until="0.29")
def prefills_without_replicas(call: Call) -> Iterator[Stop]:
    """Prefill context parallelism does not go with data parallelism (0.26 to 0.29)."""
    if call.arguments.prefill_context_parallel_size > 1 and call.arguments.data_parallel_size > 1:
        text = "prefill_context_parallel_size above 1 does not go with data_parallel_size above 1"
        yield Stop("prefill_context_parallel_size", text)


@vllm("CudaPlatformBase.check_and_update_config", "RocmPlatform.check_and_update_config", since="0.30", until="0.30")
def prefills_without_replicas_on_gpus(call: Call) -> Iterator[Stop]:
    """The same on CUDA and ROCm (0.30)."""
    if call.setting.platform in ("cuda", "rocm"):
        yield from prefills_without_replicas(call)


@vllm("ModelConfig.verify_with_parallel_config")
def contexts_divide_queries(call: Call) -> Iterator[Stop]:
    """The query heads of a KV head are shared out to ranks of decode context parallelism."""
    shape, contexts = call.setting.shape, call.arguments.decode_context_parallel_size
    queries = shape.heads // max(1, shape.kv_heads)
    if contexts > 1 and not shape.is_mla and queries % contexts:
        text = f"a KV head has {queries} query heads, no multiple of decode_context_parallel_size {contexts}"
        yield Stop("decode_context_parallel_size", text)


@vllm("ModelConfig._verify_with_expert_parallelism")
def experts_to_share(call: Call) -> Iterator[Stop]:
    """Expert parallelism needs a model with experts."""
    if call.arguments.enable_expert_parallel and not has_experts(call.text):
        yield Stop("enable_expert_parallel", "enable_expert_parallel needs a model with experts, and this one has none")


@vllm("ParallelConfig._validate_parallel_config")
def balanced_experts(call: Call) -> Iterator[Stop]:
    """Balancing experts needs expert parallelism."""
    if call.is_on("enable_eplb") and not call.arguments.enable_expert_parallel:
        yield Stop("enable_eplb", "enable_eplb needs enable_expert_parallel")


@vllm("ParallelConfig._validate_parallel_config")
def ranks_to_balance(call: Call) -> Iterator[Stop]:
    """Balancing experts needs several ranks."""
    arguments = call.arguments
    ranks = arguments.tensor_parallel_size * arguments.prefill_context_parallel_size * arguments.data_parallel_size
    if call.is_on("enable_eplb") and ranks == 1:
        yield Stop("enable_eplb", "enable_eplb needs tensor_parallel_size or data_parallel_size above 1")


@vllm("ParallelConfig._validate_parallel_config", "ParallelConfig.__post_init__")
def replicas_in_range(call: Call) -> Iterator[Stop]:
    """A node has no more replicas than there are, and a replica's rank is among them."""
    size = call.arguments.data_parallel_size
    local, rank = call.whole("data_parallel_size_local"), call.whole("data_parallel_rank")
    if local is not None and local > size:
        yield Stop("data_parallel_size_local", f"data_parallel_size_local {local} is above data_parallel_size {size}")
    if size > 1 and rank is not None and not 0 <= rank < size:
        text = f"data_parallel_rank {rank} is not from 0 to {size - 1}, which data_parallel_size {size} allows"
        yield Stop("data_parallel_rank", text)


@vllm("VllmConfig.__post_init__", since="0.29", until="0.29")
def nixl_with_contexts_of_ranks(call: Call) -> Iterator[Stop]:
    """NIXL takes no prefill context parallelism, and that of decodes for MLA alone, over all ranks (0.29)."""
    if _has_nixl(call) and call.arguments.prefill_context_parallel_size > 1:
        yield Stop("prefill_context_parallel_size", "NixlConnector has no prefill context parallelism")
    if _has_nixl(call) and call.arguments.decode_context_parallel_size > 1 and call.setting.is_hybrid:
        yield Stop("decode_context_parallel_size", "NixlConnector has no decode context parallelism for hybrids")
    yield from _contexts_with_nixl(call, call.arguments.tensor_parallel_size)


@vllm("VllmConfig.__post_init__", since="0.30")
def nixl_with_contexts(call: Call) -> Iterator[Stop]:
    """NIXL takes decode context parallelism of MLA alone, over the longer of the other two axes (0.30 on)."""
    ranks = max(call.arguments.tensor_parallel_size, call.arguments.prefill_context_parallel_size)
    yield from _contexts_with_nixl(call, ranks)


def _has_nixl(call: Call) -> bool:
    return call.transfer is not None and any(one.name == "NixlConnector" for one in call.transfer.ends)


def _contexts_with_nixl(call: Call, ranks: int) -> Iterator[Stop]:
    contexts = call.arguments.decode_context_parallel_size
    if contexts == 1 or not _has_nixl(call):
        return
    if contexts != ranks:
        text = f"NixlConnector needs decode_context_parallel_size 1 or {ranks}, and it is {contexts}"
        yield Stop("decode_context_parallel_size", text)
    if not call.setting.shape.is_mla:
        yield Stop("decode_context_parallel_size", "NixlConnector has decode context parallelism for MLA models only")


RULES: tuple[Rule, ...] = (
    contexts_divide_ranks, contexts_always_divide_ranks, contexts_span_an_axis, prefills_without_replicas,
    prefills_without_replicas_on_gpus, contexts_divide_queries, experts_to_share, balanced_experts, ranks_to_balance,
    replicas_in_range, nixl_with_contexts_of_ranks, nixl_with_contexts,
)  # fmt: skip
