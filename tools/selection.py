"""Which backends a release's platforms try for a layer, most preferred first, asked of its own selectors."""

import inspect
from itertools import product

FAMILIES = (7, 8, 9, 10, 12)
FACTS = {
    "num_attention_heads": (16, 128),
    "quantized_kv_cache": (False, True),
    "use_non_causal": (False, True),
    "use_mm_prefix": (False, True),
    "head_size": (512, 128),
}
"""Facts that a selector may ask for besides MLA and the device, with values on both sides of what it asks."""

MODEL_SELECTION = {
    "deepseek_v4": {
        "rules": [
            {"if": {"capability_family": [12]}, "value": ["FLASHINFER_MLA_SPARSE_DSV4"]},
            {"value": ["FLASHMLA_SPARSE_DSV4", "FLASHINFER_MLA_SPARSE_DSV4"]},
        ]
    },
    "two_head_sizes": {
        "rules": [
            {
                "if": {"platform": "cuda", "flash_attn_version": [3, 4]},
                "value": ["FLASH_ATTN_DIFFKV", "TRITON_ATTN_DIFFKV"],
            },
            {"value": ["TRITON_ATTN_DIFFKV", "FLASH_ATTN_DIFFKV"]},
        ]
    },
    "sinks": ["FLASH_ATTN_DIFFKV"],
    "gemma4": ["FLASH_ATTN", "TRITON_ATTN"],
    "minimax_m3": ["MINIMAX_M3_SPARSE"],
    "inkling": ["FLASH_ATTN"],
}
"""Backends that a model's own code tries, most preferred first: `_select_dsv4_backend` and `DeepseekV4Attention`,
`MiMoV2Attention` (values of another size than keys), `StaticSinkAttention`, `Gemma4Config.verify_and_update_config`,
`MiniMaxM3SparseAttention`, `InklingAttention`."""


def selection():
    """The rules of every platform, first match wins."""
    return {"rules": [*cuda_rules(), *rocm_rules(), *xpu_rules(), *cpu_rules(), {"value": []}]}


def cuda_rules():
    """By MLA and compute capability family, and by more where the order hangs on more."""
    for use_mla, family in product((True, False), FAMILIES):
        where = {"platform": "cuda", "use_mla": use_mla, "capability_family": [family]}
        answers = {
            case: cuda_order(use_mla, family, dict(zip(FACTS, case, strict=True))) for case in product(*FACTS.values())
        }
        for case, order in told_apart(answers).items():
            yield {"if": {**where, **case_condition(case)}, "value": order}


def told_apart(answers):
    """The answers by only those facts that they hang on; None stands for a fact that makes no difference."""
    for position in range(len(FACTS)):
        merged = {}
        for case, order in answers.items():
            merged.setdefault((*case[:position], None, *case[position + 1 :]), []).append(order)
        if all(orders == orders[:1] * len(orders) for orders in merged.values()):
            answers = {case: orders[0] for case, orders in merged.items()}
    return answers


def case_condition(case):
    out = {}
    for (fact, values), value in zip(FACTS.items(), case, strict=True):
        if fact == "head_size":
            # The one size that a selector knows comes first, and what holds for all others needs no condition.
            out |= {fact: value} if value == values[0] else {}
        elif value is not None:
            out[fact] = value if isinstance(value, bool) else "<=16" if value == values[0] else ">16"
    return out


def cuda_order(use_mla, family, facts):
    from vllm.platforms import cuda
    from vllm.platforms.interface import DeviceCapability

    asked = {
        "num_heads": facts["num_attention_heads"],
        "kv_cache_dtype": "fp8" if facts["quantized_kv_cache"] else "auto",
        "use_non_causal": facts["use_non_causal"],
        "use_mm_prefix": facts["use_mm_prefix"],
        "head_size": facts["head_size"],
    }
    known = inspect.signature(cuda._get_backend_priorities).parameters
    asked = {name: value for name, value in asked.items() if name in known}
    return [b.name for b in cuda._get_backend_priorities(use_mla, DeviceCapability(family, 0), **asked)]


def rocm_rules():
    """With AITER installed and switched on, which is the longest list; without it the AITER ones drop out."""
    import vllm._aiter_ops as aiter
    from vllm.platforms import rocm

    aiter.is_aiter_found_and_supported = lambda: True
    for switch in ("is_mla_enabled", "is_mha_enabled"):
        setattr(aiter.rocm_aiter_ops, switch, staticmethod(lambda: True))
    for use_mla, use_sparse in ((True, True), (True, False), (False, False)):
        condition = {"platform": "rocm", "use_mla": use_mla, **({"use_sparse": use_sparse} if use_mla else {})}
        order = [b.name for b in rocm._get_backend_priorities(use_mla, use_sparse)]
        if not use_mla and "use_kv_connector" in inspect.signature(rocm._get_backend_priorities).parameters:
            connected = [b.name for b in rocm._get_backend_priorities(use_mla, use_sparse, use_kv_connector=True)]
            yield {"if": {**condition, "use_kv_connector": True}, "value": connected}
        yield {"if": condition, "value": order}


def xpu_rules():
    """The selector holds no list; this is what it returns, most preferred first."""
    from vllm.platforms import xpu

    source = inspect.getsource(xpu.XPUPlatform.get_attn_backend_cls)
    latent = ["FLASH_ATTN_MLA", "TRITON_MLA"] if "FLASH_ATTN_MLA" in source else ["TRITON_MLA"]
    yield {"if": {"platform": "xpu", "use_mla": True, "use_sparse": True}, "value": ["XPU_MLA_SPARSE"]}
    yield {"if": {"platform": "xpu", "use_mla": True}, "value": latent}
    if "TRITON_FLASH_ATTN" in source:
        yield {"if": {"platform": "xpu", "use_mm_prefix": True}, "value": ["TRITON_FLASH_ATTN", "TRITON_ATTN"]}
    yield {"if": {"platform": "xpu"}, "value": ["FLASH_ATTN", "TRITON_ATTN"]}


def cpu_rules():
    """The selector holds no list; this is what it returns, on a machine with AMX where a backend is for that."""
    from vllm.platforms import cpu

    source = inspect.getsource(cpu.CpuPlatform.get_attn_backend_cls)
    latent = [name for name in ("AMX_MLA", "CPU_MLA") if f"{name}.get_path" in source]
    if latent:
        yield {"if": {"platform": "cpu", "use_mla": True, "use_sparse": False}, "value": latent}
    yield {"if": {"platform": "cpu", "use_mla": False}, "value": ["CPU_ATTN"]}
