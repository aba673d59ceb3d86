"""A worker as the plugin sees one: objects with the attributes of vLLM's, real tensors, and nothing else of it."""

import enum
import sys
import types
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")


@dataclass
class FullAttentionSpec:
    block_size: int
    num_kv_heads: int
    head_size: int
    dtype: Any
    head_size_v: int | None = None
    sliding_window: int | None = None
    kv_quant_mode: Any = None
    num_head_slots: int | None = None

    @property
    def page_size_padded(self):
        return 7


@dataclass
class MambaSpec:
    block_size: int
    shapes: Any
    dtypes: Any
    page_size_padded: int | None = None
    mamba_type: Any = None
    mamba_cache_mode: str = "none"


@dataclass
class UniformTypeKVCacheSpecs:
    block_size: int
    kv_cache_specs: dict


class CUDAGraphMode(enum.Enum):
    NONE = 0
    PIECEWISE = 1
    FULL_AND_PIECEWISE = (2, 1)


class Support(enum.Enum):
    UNIFORM_BATCH = 2


class Builder:
    @classmethod
    def get_cudagraph_support(cls, vllm_config, spec):
        return Support.UNIFORM_BATCH


class FlashAttentionBackend:
    __module__ = "vllm.v1.attention.backends.flash_attn"
    heads_before_tokens = False

    @staticmethod
    def get_builder_cls():
        return Builder

    @staticmethod
    def get_kv_cache_shape(num_blocks, block_size, num_kv_heads, head_size):
        return (num_blocks, num_kv_heads, block_size, 2 * head_size)


@dataclass
class MultipleOf:
    base: int


class NPUBackend(FlashAttentionBackend):
    __module__ = "vllm_npu.attention"
    heads_before_tokens = True

    @staticmethod
    def get_kv_cache_stride_order():
        return (0, 2, 1, 3)

    @staticmethod
    def get_supported_kernel_block_sizes():
        return [64, MultipleOf(16)]


class AttentionBackendEnum(enum.Enum):
    FLASH_ATTN = "vllm.v1.attention.backends.flash_attn.FlashAttentionBackend"


class GPUModelRunnerV1:
    __module__ = "vllm.v1.worker.gpu_model_runner"


class GPUModelRunnerV2:
    __module__ = "vllm.v1.worker.gpu.model_runner"


@dataclass
class Model:
    """A fake engine: what it has, and how to make a worker of it."""

    runner_class: type = GPUModelRunnerV2
    backend: type = FlashAttentionBackend
    version: str = "0.26.1"
    num_blocks: int = 8
    world_size: int = 1
    rank: int = 0
    packed: bool = False
    calls: list = field(default_factory=list)

    def worker(self):
        shape = self.backend.get_kv_cache_shape(self.num_blocks, 16, 2, 8)
        layers = {f"model.layers.{i}.attn": self._layer(shape) for i in range(2)}
        spec = FullAttentionSpec(16, 2, 8, torch.bfloat16, head_size_v=8)
        size = self.num_blocks * 2 * 16 * 2 * 8 * 2
        tensors = [SimpleNamespace(size=size, shared_by=[name], offset=0, block_stride=0) for name in layers]
        groups = [SimpleNamespace(layer_names=list(layers), kv_cache_spec=spec)]
        config = SimpleNamespace(num_blocks=self.num_blocks, kv_cache_groups=groups, kv_cache_tensors=tensors)
        runner = self.runner_class()
        group = SimpleNamespace(backend=self.backend, layer_names=list(layers), kv_cache_spec=spec, kv_cache_group_id=0)
        runner.attn_groups, runner.kernel_block_sizes = [[group]], [16]
        runner.kv_caches = [layer.kv_cache for layer in layers.values()]
        runner.device = torch.device("cpu")
        wrapper = sys.modules["vllm.v1.worker.worker_base"].WorkerWrapperBase()
        wrapper.global_rank, wrapper.model = self.rank, self
        wrapper.worker = SimpleNamespace(model_runner=runner)
        wrapper.vllm_config = self._config(layers)
        return wrapper, [config] * self.world_size

    def _layer(self, shape):
        size = 2
        for dim in shape:
            size *= dim
        raw = torch.full((size,), 77, dtype=torch.int8)
        blocks, heads, tokens, elements = shape
        raw = raw.view(torch.bfloat16)
        if self.backend.heads_before_tokens:
            return SimpleNamespace(kv_cache=raw.view(shape), num_heads=4)
        return SimpleNamespace(kv_cache=raw.view(blocks, tokens, heads, elements).permute(0, 2, 1, 3), num_heads=4)

    def _config(self, layers):
        parallel = SimpleNamespace(
            world_size=self.world_size, data_parallel_rank=0, data_parallel_size=1, tensor_parallel_size=self.world_size
        )
        model = SimpleNamespace(
            model="/home/someone/secret-model", max_model_len=64, hf_config=SimpleNamespace(model_type="llama"),
            get_num_attention_heads=lambda parallel: 4, get_num_kv_heads=lambda parallel: 2,
        )  # fmt: skip
        compilation = SimpleNamespace(
            static_forward_context=layers, cudagraph_mode=CUDAGraphMode.FULL_AND_PIECEWISE, mode=SimpleNamespace(),
            cudagraph_capture_sizes=[1, 2], max_cudagraph_capture_size=2, cache_dir="/home/someone/cache",
        )  # fmt: skip
        return SimpleNamespace(
            parallel_config=parallel, model_config=model, compilation_config=compilation, speculative_config=None,
            scheduler_config=SimpleNamespace(max_num_seqs=4), cache_config=SimpleNamespace(cache_dtype="auto", block_size=16),
            kv_transfer_config=SimpleNamespace(kv_connector="NixlConnector", kv_connector_extra_config={"path": "/home/someone"}),
        )  # fmt: skip


def modules(model):
    """Name → module of a vLLM of which there is only what the plugin looks at."""

    class WorkerWrapperBase:
        def initialize_from_config(self, kv_cache_configs):
            self.model.calls.append(kv_cache_configs)
            self.vllm_config.compilation_config.cudagraph_mode = CUDAGraphMode.PIECEWISE
            return "what the engine returns"

    names = [
        "vllm", "vllm.platforms", "vllm.v1", "vllm.v1.worker", "vllm.v1.worker.worker_base", "vllm.v1.attention",
        "vllm.v1.attention.backends", "vllm.v1.attention.backends.registry", "vllm.v1.attention.backends.utils",
        "vllm.v1.attention.backends.flash_attn", "vllm_npu", "vllm_npu.attention",
    ]  # fmt: skip
    found = {name: types.ModuleType(name) for name in names}
    found["vllm"].__version__ = model.version
    found["vllm.platforms"].current_platform = SimpleNamespace(
        is_cuda=lambda: True,
        is_rocm=lambda: False,
        get_device_capability=lambda: (9, 0),
        get_device_name=lambda: "H100",
    )
    found["vllm.v1.worker.worker_base"].WorkerWrapperBase = WorkerWrapperBase
    found["vllm.v1.attention.backends.registry"].AttentionBackendEnum = AttentionBackendEnum
    found["vllm.v1.attention.backends.utils"].get_kv_cache_layout = lambda: "NHD"
    found["vllm.v1.attention.backends.flash_attn"].FlashAttentionBackend = FlashAttentionBackend
    found["vllm_npu.attention"].NPUBackend = NPUBackend
    return found
