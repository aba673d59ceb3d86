"""A made-up CUDA machine for whole models: compiled operators that say yes, devices without memory, ranks alone."""

import dataclasses
import enum
import importlib
import importlib.util
import os
import sys
import types

import pretend
import torch
import torch._ops
import torch.library
import torch.overrides

from bridge import cache

OPERATORS = {
    "_C", "_moe_C", "_C_cache_ops", "_C_custom_ar", "_C_cuda_utils", "_rocm_C", "_vllm_fa2_C", "_vllm_fa3_C",
    "_flashkda_C",
}  # fmt: skip
PACKAGES = ("torchvision", "cv2", "PyNvVideoCodec", "flashinfer", "tilelang")
"""Packages that are installed beside vLLM on a machine with a GPU, and hollow here."""
MEMORY = 80 << 30


def be(capability):
    """Be that machine. Nothing of vLLM may be imported before: modules keep the device that they were imported on."""
    os.environ["VLLM_HAS_FLASHINFER_CUBIN"] = "1"  # as where NVIDIA's kernel server can be reached
    torch.version.cuda = "13.0"
    pretend.ABSENT.update(PACKAGES)
    sys.meta_path.append(pretend.HollowImporter())
    pretend.HollowModule.__version__ = "0.28.0"
    for name in shipped():
        sys.modules.setdefault(name, types.ModuleType(name))
    operators()
    platform(capability)
    torch_sees(capability)
    for module in ("engine.arg_utils", "model_executor.model_loader.utils", "v1.worker.gpu.attn_utils"):
        importlib.import_module(f"vllm.{module}")
    helpers()


def shipped():
    """The compiled modules of the wheel, by its own list of files: where they are shipped they count as there."""
    (record,) = cache.engine(pretend.version()).glob("vllm-*.dist-info/RECORD")
    for line in record.read_text(encoding="utf-8").splitlines():
        path, _, rest = line.partition(",")[0].partition(".")
        if rest.endswith("so") and path.startswith("vllm/") and "third_party" not in path:
            yield path.replace("/", ".")


class Operator:
    """A compiled operator; asked whether something is supported, it says yes."""

    def __init__(self, name):
        self.__name__ = name

    def __call__(self, *arguments, **more):
        return True

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self


def operators():
    """Operators of compiled modules are there, and shapes may be registered for them."""
    known, register = torch._ops._OpNamespace.__getattr__, torch.library.register_fake

    def found(self, name):
        try:
            return known(self, name)
        except AttributeError:
            if self.name in OPERATORS and not name.startswith("__"):
                return Operator(name)
            raise

    def registered(operator, function=None, /, **more):
        def decorated(shape):
            try:
                return register(operator, shape, **more)
            except Exception:
                return shape

        return decorated if function is None else decorated(function)

    torch._ops._OpNamespace.__getattr__ = found
    torch.library.register_fake = registered


def platform(capability):
    """vLLM's own platform class, with the answers of the device."""
    import vllm.platforms as platforms
    from vllm.platforms.cuda import NonNvmlCudaPlatform
    from vllm.platforms.interface import DeviceCapability

    answers = {
        "get_device_capability": DeviceCapability(*capability),
        "get_device_name": "made-up",
        "get_device_total_memory": MEMORY,
        "is_fully_connected": True,
        "num_compute_units": 132,
        "device_count": 64,
        "log_warnings": None,
        "set_device": None,
        "import_kernels": None,
    }
    methods = {name: classmethod(lambda cls, *a, value=value, **k: value) for name, value in answers.items()}
    platforms._current_platform = type("MadeUp", (NonNvmlCudaPlatform,), methods)()


class Nothing:
    """A stream or an event: everything can be called, nothing happens."""

    def __init__(self, *arguments, **more):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **more: None


def torch_sees(capability):
    """What models ask torch for while they are built."""
    properties = types.SimpleNamespace(
        multi_processor_count=132, total_memory=MEMORY, name="made-up", major=capability[0], minor=capability[1],
        shared_memory_per_block_optin=232448,
    )  # fmt: skip
    cuda = {
        "Stream": Nothing,
        "Event": Nothing,
        "current_device": lambda: 0,
        "current_stream": lambda *a, **k: Nothing(),
        "is_current_stream_capturing": lambda: False,
        "synchronize": lambda *a, **k: None,
        "get_device_properties": lambda *a, **k: properties,
        "get_device_capability": lambda *a, **k: capability,
    }
    accelerator = {
        "current_device_index": lambda: 0,
        "empty_cache": lambda *a, **k: None,
        "current_accelerator": lambda *a, **k: torch.device("cuda"),
    }
    for owner, values in ((torch.cuda, cuda), (torch.accelerator, accelerator)):
        for name, value in values.items():
            setattr(owner, name, value)


THERE = {
    "has_deep_gemm": ("utils.import_utils", "model_executor.layers.sparse_attn_indexer"),
    "is_deep_gemm_supported": ("utils.import_utils", "model_executor.layers.sparse_attn_indexer"),
    "has_flashinfer_sm90_nope_mla": ("utils.flashinfer", "v1.attention.backends.mla.flashinfer_mla_sparse_sm90"),
}
"""What asks for kernels of packages that are hollow here, and that vLLM requires in a version that has them → homes."""


def helpers():
    """Helpers of vLLM's that start a process, or ask for a kernel or a buffer of the device."""
    importlib.import_module("vllm.model_executor.models.registry")._run_in_subprocess = lambda function: function()
    for name, homes in THERE.items():
        for home in homes:
            module = importlib.import_module(f"vllm.{home}") if importlib.util.find_spec(f"vllm.{home}") else None
            if hasattr(module, name):
                setattr(module, name, lambda *a, **k: True)
    norm = getattr(importlib.import_module("vllm.model_executor.models.vision"), "FusedInputNorm", None)
    if norm is not None:  # it reads a processor's file, which lies beside a real model's config.json
        norm.from_model_config = classmethod(lambda cls, *a, **k: cls.identity())
    flashinfer = importlib.import_module("vllm.v1.attention.backends.flashinfer")
    for name in ("_get_multi_ctas_kv_counter_buffer", "_get_trtllm_workspace_buffer"):
        if hasattr(flashinfer, name):
            setattr(flashinfer, name, lambda *a, **k: None)


def join(config, rank, ranks):
    """Be one of a deployment's ranks, alone."""
    import vllm.distributed.parallel_state as state
    from vllm.v1.worker.workspace import init_workspace_manager

    if not rank:
        address = f"tcp://127.0.0.1:{20000 + os.getpid() % 30000}"
        state.init_distributed_environment(1, 0, address, 0, backend="gloo")
        state.initialize_model_parallel(1, 1)
        init_workspace_manager(torch.device("meta"))
    as_many_ranks(config)
    if ranks > 1:
        pipeline = state._PP
        pipeline.world_size, pipeline.ranks = ranks, list(range(ranks))
        pipeline.rank_in_group = pipeline.rank = rank


def as_many_ranks(config):
    """As many tensor-parallel ranks as are asked for."""
    import vllm.distributed.parallel_state as state

    state._TP.world_size = config.parallel_config.tensor_parallel_size


WITHOUT_NUMBERS = {
    torch.Tensor.tolist: lambda tensor: torch.zeros(tensor.shape, device="cpu").tolist() if tensor.dim() else 0.0,
    torch.Tensor.item: lambda tensor: 0.0,
    torch.Tensor.__float__: lambda tensor: 0.0,
    torch.Tensor.cpu: lambda tensor: tensor,
}
"""What a tensor without memory answers where a number is asked for."""


class CudaIsMeta(torch.overrides.TorchFunctionMode):
    """Models name the device here and there; nothing is allocated on it."""

    def __torch_function__(self, function, types_, arguments=(), more=None):
        """Call a function of torch's."""
        more = dict(more or {})
        if function in WITHOUT_NUMBERS and arguments and getattr(arguments[0], "is_meta", False):
            return WITHOUT_NUMBERS[function](arguments[0])
        named = more.get("device")
        if named is not None and ("cuda" in str(named) or type(named) is int):
            more["device"] = "meta"
        return function(*arguments, **more)


def plain_spec(spec):
    """A spec with all its fields."""
    fields = {field.name: plain(getattr(spec, field.name)) for field in dataclasses.fields(spec)}
    return {"type": type(spec).__name__, **fields, "page_size_bytes": spec.page_size_bytes}


def plain(value):
    """A value as JSON."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if type(value).__name__ == "MultipleOf":
        return f"{value.base}n"
    return plain_spec(value) if dataclasses.is_dataclass(value) else value
