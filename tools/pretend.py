"""Make a vLLM release importable on any machine: without its compiled parts, on a made-up device.

What a backend class answers is Python; the kernels behind it are not asked. Modules that are compiled or absent become
hollow ones, `current_platform` is vLLM's own platform class with the wanted compute capability, and torch's device
queries answer as that device would. Where vLLM is fully installed, real modules win.
"""

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

COMPILED = (
    "_C", "_moe_C", "_rocm_C", "_flashmla", "_deepselect_C", "_qutlass_C", "vllm_flash_attn._vllm_fa", "_custom_",
    "third_party.deep_gemm._C.",
)  # fmt: skip
ABSENT = {"vllm_xpu_kernels", "cutlass", "cuda", "quack", "deep_gemm", "pplx_kernels", "hpc"}
WHEN_ASKED_FOR = {
    "flashinfer", "torchvision", "aiter", "amdsmi", "flash_attn", "flash_mla", "tokenspeed_mla", "fmha_sm100",
    "tilelang", "cupy", "b12x", "sgl_kernel", "mslk", "fbgemm_gpu", "triton_kernels", "torchaudio", "soundfile",
    "timm", "terratorch",
}  # fmt: skip
"""Packages that stay away until an import fails for want of them: some of vLLM asks whether they are there."""

LOADERS = ("vllm.third_party.deep_gemm._C",)
"""Modules in Python that load a compiled part from their own folder when they are imported."""

ROCM_ARCHITECTURES = {"9.4": "gfx942", "9.5": "gfx950"}


class Hollow(type):
    """A class of which everything can be asked and taken."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return hollow(name)

    def __call__(cls, *args, **more):
        decorates = len(args) == 1 and not more and callable(args[0])
        return args[0] if decorates else cls

    def __iter__(cls):
        return iter(())

    def __getitem__(cls, key):
        return cls

    def __or__(cls, other):
        return cls

    def __ror__(cls, other):
        return cls

    def __lt__(cls, other):
        return False

    def __gt__(cls, other):
        return False

    def __le__(cls, other):
        return False

    def __ge__(cls, other):
        return False


def hollow(name):
    return Hollow(name, (), {})


class HollowModule(types.ModuleType):
    __path__ = ()
    __version__ = "99.0.0"

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return hollow(name)


class HollowImporter(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands behind every other importer."""

    def find_spec(self, name, path=None, target=None):
        compiled = name.startswith("vllm.") and name.removeprefix("vllm.").startswith(COMPILED)
        if compiled or name.partition(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return HollowModule(spec.name)

    def exec_module(self, module):
        pass


def be(platform, capability):
    """Be a machine with such a device; `capability` is `major.minor`, None where the platform has none."""
    sys.meta_path.append(HollowImporter())
    sys.modules.update({name: HollowModule(name) for name in LOADERS if not _is_whole(name)})
    if platform == "cuda":
        ABSENT.add("flashinfer")
    _torch_sees(platform, capability)
    import vllm.platforms as platforms

    platforms._current_platform = _platform(platform, capability)
    _without_triton()
    for module in ("vllm.model_executor.layers.attention", "vllm.v1.worker.gpu.attn_utils"):
        load(lambda module=module: importlib.import_module(module))
    if importlib.util.find_spec("vllm.utils.flashinfer"):
        # It asks NVIDIA's server for kernels; here it finds them.
        importlib.import_module("vllm.utils.flashinfer").has_nvidia_artifactory = lambda: True


def _is_whole(loader):
    """Whether the compiled part that a module loads is there."""
    folder = pathlib.Path(importlib.util.find_spec("vllm").origin).parent.joinpath(*loader.split(".")[1:-1])
    return any(folder.glob("*.so"))


def _torch_sees(platform, capability):
    import torch

    major, minor = map(int, (capability or "0.0").split("."))
    device = types.SimpleNamespace(
        gcnArchName=ROCM_ARCHITECTURES.get(capability, "gfx942"),
        name=platform,
        major=major,
        minor=minor,
        warp_size=64,
        multi_processor_count=132,
        total_memory=1 << 37,
        shared_memory_per_block_optin=232448,
        shared_memory_per_multiprocessor=233472,
        L2_cache_size=50 << 20,
    )
    torch.cuda.get_device_properties = lambda *a, **k: device
    torch.cuda.get_device_capability = lambda *a, **k: (major, minor)
    torch.cuda.current_device = lambda: 0
    torch.cuda.get_device_name = lambda *a, **k: platform
    # The CPU is one with AMX, whichever this machine has.
    torch.cpu._is_amx_tile_supported = torch.cpu._is_avx512_supported = lambda: True


HOMES = {
    "cuda": ("cuda", "NonNvmlCudaPlatform"),
    "rocm": ("rocm", "RocmPlatform"),
    "xpu": ("xpu", "XPUPlatform"),
    "cpu": ("cpu", "CpuPlatform"),
}
"""Platform → the module of `vllm.platforms` and the class in it."""


def _platform(platform, capability):
    from vllm.platforms.interface import DeviceCapability

    module, name = HOMES[platform]
    base = getattr(importlib.import_module(f"vllm.platforms.{module}"), name)
    found = DeviceCapability(*map(int, capability.split("."))) if capability else None
    answers = {
        "get_device_capability": found,
        "get_device_name": platform,
        "get_device_uuid": platform,
        "get_device_total_memory": 1 << 37,
        "num_compute_units": 132,
        "is_fully_connected": True,
        "import_kernels": None,
        "device_count": 1,
    }
    methods = {key: classmethod(lambda cls, *a, value=value, **k: value) for key, value in answers.items()}
    return type(name, (base,), {**methods, "__module__": base.__module__})()


def _without_triton():
    """vLLM's stand-in for Triton makes a function of a tuning configuration, and asks it for its fields."""
    from vllm.triton_utils import HAS_TRITON, triton

    if not HAS_TRITON:
        triton.Config = lambda kwargs=None, num_warps=4, num_stages=2, **more: types.SimpleNamespace(
            kwargs=kwargs, num_warps=num_warps, num_stages=num_stages
        )


def load(getter):
    """What a getter imports; missing packages become hollow, and a second try lets modules touch a device."""
    try:
        return _with_missing(getter)
    except (ValueError, ModuleNotFoundError):
        raise
    except Exception:
        with _devices_everywhere():
            return _with_missing(getter)


def _with_missing(getter):
    while True:
        try:
            return getter()
        except ModuleNotFoundError as error:
            package = (error.name or "").partition(".")[0]
            if package not in WHEN_ASKED_FOR - ABSENT:
                raise
            ABSENT.add(package)


@contextlib.contextmanager
def _devices_everywhere():
    """Tensors for a GPU are made without memory, and compiled operators that are not there are hollow."""
    import torch
    from torch._ops import _OpNamespace

    old = torch.empty, torch.zeros, _OpNamespace.__getattr__
    torch.empty, torch.zeros = _on_meta(torch.empty), _on_meta(torch.zeros)
    _OpNamespace.__getattr__ = _or_hollow(old[2])
    softened = _soften_triton()
    try:
        yield
    finally:
        torch.empty, torch.zeros, _OpNamespace.__getattr__ = old
        for cls in softened:
            del cls.__getattr__


def _on_meta(function):
    def made(*args, **more):
        if "cuda" in str(more.get("device", "")):
            more["device"] = "meta"
        return function(*args, **more)

    return made


def _or_hollow(function):
    def found(self, name):
        try:
            return function(self, name)
        except AttributeError:
            if name.startswith("__"):
                raise
            return hollow(name)

    return found


def _soften_triton():
    """vLLM's stand-ins for Triton with an answer to everything."""
    from vllm.triton_utils import importing

    names = ("TritonLanguagePlaceholder", "TritonPlaceholder")
    found = [getattr(importing, name) for name in names if hasattr(importing, name)]
    bare = [cls for cls in found if "__getattr__" not in vars(cls)]
    for cls in bare:
        cls.__getattr__ = _or_hollow(_nothing)
    return bare


def _nothing(self, name):
    raise AttributeError(name)


def version():
    """The release on the path."""
    from importlib import metadata

    return metadata.version("vllm").partition("+")[0]
