"""What rules want to know of a backend beside what its class answers, read off its source where no method says it.

Every fact is left out where it says nothing, so that a backend's row has only what is its own.
"""

import ast
import inspect
import pathlib
import re
import sys
import textwrap
import types
import typing

ONE_PLATFORM = {
    "ROCM_": "rocm", "XPU_": "xpu", "CPU_": "cpu", "FLASHINFER": "cuda", "FLASHMLA": "cuda", "CUTLASS": "cuda",
    "TOKENSPEED": "cuda", "FLASH_ATTN_MLA": "cuda", "HPC_ATTN": "cuda",
}  # fmt: skip
"""Beginnings of names → the one platform whose kernels they are made of; no method of a class says so."""

UNPACKED_ROWS = {
    "FLASHINFER_MLA_SPARSE_DSV4": {"rules": [{"if": {"capability_family": [12]}, "value": False}, {"value": True}]}
}
"""Backends of DeepSeek V4 that store plain rows, as its layers settle when they are made (`DeepseekV4Attention`)."""


SWITCHES = {
    "ROCM_AITER_MLA": "VLLM_ROCM_USE_AITER_MLA", "ROCM_AITER_TRITON_MLA": "VLLM_ROCM_USE_AITER_MLA",
    "ROCM_AITER_FA": "VLLM_ROCM_USE_AITER_MHA",
}  # fmt: skip
"""Backends that `RocmPlatform` tries only where AITER is switched on → the variable that switches them off again."""


def facts(name, backend):
    """The facts of one backend of attention layers. `backend` is its class."""
    found = {
        "platform": next((home for start, home in ONE_PLATFORM.items() if name.startswith(start)), None),
        "switched_on_by": {"VLLM_ROCM_USE_AITER": False, SWITCHES[name]: True} if name in SWITCHES else None,
        "unpacked_rows": UNPACKED_ROWS.get(name),
        **{key: known(function, backend) for key, function in READ.items()},
        **(known(refused_combinations, backend) or {}),
    }
    return {key: value for key, value in found.items() if value not in (None, [])}


def known(function, backend):
    """The answer, None where the class has not what is asked for."""
    try:
        return function(backend)
    except (AttributeError, NotImplementedError, OSError, TypeError):
        return None


def own_source(backend):
    """The module of the class, as it is written."""
    return inspect.getsource(sys.modules[backend.__module__])


def combination(backend):
    """The source of `supports_combination`."""
    return textwrap.dedent(inspect.getsource(backend.supports_combination))


def flash_attention(backend):
    """`all` where FlashAttention serves a backend's layers, `causal` where only beside another (a composite)."""
    from vllm.v1.attention.backends.flash_attn import FlashAttentionBackend

    if issubclass(backend, FlashAttentionBackend):
        return "all"
    cells = getattr(getattr(backend.supports_combination, "__func__", None), "__closure__", None) or ()
    inner = [one for cell in cells for one in closed_over(cell)]
    return "causal" if any(issubclass(one, FlashAttentionBackend) for one in inner) else None


def closed_over(cell):
    """The classes that a function's cell holds."""
    value = cell.cell_contents
    return [one for one in (value if isinstance(value, tuple) else (value,)) if isinstance(one, type)]


def fp8_from_capability(backend):
    """The lowest compute capability on which an implementation is made with an fp8 cache, where it refuses below."""
    function = vars(backend.get_impl_cls()).get("__init__")
    source = inspect.getsource(function) if function else ""
    named = re.search(r'startswith\("fp8"\) and not \(\s*current_platform\.has_device_capability\((\d)(\d)\)', source)
    return f"{named[1]}.{named[2]}" if named else None


def packed_cache_dtypes(backend):
    """The cache dtypes that sparse MLA stores in DeepSeek's own format instead."""
    from vllm.config import cache
    from vllm.model_executor.layers.attention.mla_attention import _canonicalize_sparse_mla_kv_cache_dtype as stored

    words = [word for word in typing.get_args(cache.CacheDType) if word not in ("half", "float", "fp8_ds_mla")]
    return [word for word in words if stored(backend, word) == "fp8_ds_mla"]


def binds_whole_rows(backend):
    """The cache dtypes with which a latent layer is bound only where its blocks lie whole rows apart (0.30 on)."""
    if not backend.is_mla():
        return None
    words = [word for word in backend.supported_kv_cache_dtypes if not binds_between_rows(backend, word)]
    if words:
        backend.get_impl_cls()  # an indexer has none: its cache has a layer class of its own
    return words


def binds_between_rows(backend, cache_dtype):
    """Whether a latent layer takes a cache whose second block begins inside a row."""
    import torch
    from vllm.model_executor.layers.attention.mla_attention import MLAAttention

    config = types.SimpleNamespace(kernel_config=types.SimpleNamespace(enable_jit_warmup=True))
    layer = types.SimpleNamespace(_vllm_config=config, attn_backend=backend, kv_cache_dtype=cache_dtype)
    layer._uses_flat_kv_cache = lambda: MLAAttention._uses_flat_kv_cache(layer)
    try:
        MLAAttention.bind_kv_cache(layer, torch.empty_strided((2, 1, 1, 3), (4, 3, 3, 1)))
    except AssertionError:
        return False
    return True


def reads_mm_prefix(backend):
    """False where a class reports bidirectional ranges and nothing in its modules reads one."""
    if not backend.supports_mm_prefix():
        return None
    modules = {cls.__module__ for cls in (*backend.__mro__, backend.get_impl_cls(), backend.get_builder_cls())}
    homes = [name for name in modules if name.startswith("vllm.") and name != "vllm.v1.attention.backend"]
    source = "".join(inspect.getsource(sys.modules[name]) for name in homes)
    return None if re.search(r"(?<!supports_)(?<!use_)mm_prefix", source) else False


def splits_by_paged_attention(backend):
    """Whether kernels take the page of a block as flat memory, with the keys cut into pieces of 16 bytes."""
    return "PagedAttention.split_kv_cache(" in own_source(backend) or None


def block_order(backend):
    """What the kernels order a block by that its shape does not show."""
    return "instruction set" if "_get_attn_isa(" in own_source(backend) else None


def refused_combinations(backend):
    """What `supports_combination` refuses by one comparison alone."""
    found = {}
    for node in ast.walk(ast.parse(combination(backend))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and refuses(node):
            found |= compared(node.test)
    return found


def refuses(node):
    """Whether a condition's body returns a reason."""
    last = node.body[-1]
    return isinstance(last, ast.Return) and not (isinstance(last.value, ast.Constant) and last.value.value is None)


def compared(test):
    """A comparison as a fact, {} for one that is none of those that rules know."""
    what, values = ast.unparse(test.left).rpartition(".")[2], ast.unparse(test.comparators[0])
    match what, type(test.ops[0]).__name__:
        case "qk_nope_head_dim", "NotIn":
            return {"qk_nope_head_dims": list(ast.literal_eval(values))}
        case "kv_cache_dtype", "Eq":
            return {"refused_cache_dtypes": [ast.literal_eval(values)]}
        case "decode_context_parallel_size", "Gt":
            return {"takes_decode_context_parallelism": False}
    return {}


READ = {
    "flash_attention": flash_attention,
    "fp8_from_capability": fp8_from_capability,
    "packs_cache_dtypes": packed_cache_dtypes,
    "binds_whole_rows": binds_whole_rows,
    "splits_by_paged_attention": splits_by_paged_attention,
    "block_order": block_order,
    "reads_mm_prefix": reads_mm_prefix,
}
"""Fact → the function that reads it."""


def state_layers():
    """Class of a layer with states → the word for its backend that its `mamba_type` returns."""
    import vllm

    home = pathlib.Path(vllm.__file__).parent
    files = [path for part in ("model_executor", "models") for path in sorted((home / part).rglob("*.py"))]
    sources = [text for path in files if "MambaAttentionBackendEnum." in (text := path.read_text(encoding="utf-8"))]
    classes = [node for text in sources for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]
    return {cls.name: word for cls in classes for word in returned_types(cls)}


def returned_types(cls):
    """What a class returns as its `mamba_type`."""
    for method in cls.body:
        if isinstance(method, ast.FunctionDef) and method.name == "mamba_type":
            for node in ast.walk(method):
                if isinstance(node, ast.Return) and isinstance(node.value, ast.Attribute):
                    yield node.value.attr
