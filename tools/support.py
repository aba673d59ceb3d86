"""CUDA graph support as rules: read off the observations where they tell, else the rule behind them."""

import inspect
import sys

from varying import rules

FLASH_ATTN_VERSIONS = [
    {"if": {"platform": "xpu"}, "value": 2},
    {"if": {"platform": "rocm"}, "value": None},
    {"if": {"attention_config.flash_attn_version": "set"}, "value": "as set (3 is not taken on 10.x and up)"},
    {"if": {"capability_family": 9}, "value": 3},
    {"if": {"capability_family": 10}, "value": 4},
    {"value": 2},
]
"""The FlashAttention that is chosen when its backend is imported (`get_flash_attn_version`)."""


def flash_attn_support(row):
    """FlashAttention's support by its version, read off the places that choose one."""
    by_place = {}
    for group in row["cudagraph"]["varies"]:
        by_place.update({(p["platform"], p["capability"]): group["value"]["default"] for p in group["on"]})
    always = [version for version, at in ((3, "9.0"), (4, "10.0")) if by_place["cuda", at] == "ALWAYS"]
    found = [{"if": {"flash_attn_version": always if len(always) > 1 else always[0]}, "value": "ALWAYS"}]
    if by_place["xpu", None] == "ALWAYS":
        found.append({"if": {"platform": "xpu"}, "value": "ALWAYS"})
    return {"rules": [*found, {"value": by_place["cuda", "8.0"]}]}


UNCLAMPED = {"unclamped_window": True}
"""A layer has a sliding window at which the model does not cut the ranges that attend bidirectionally."""


def flashinfer_support(backend):
    """FlashInfer's CUDA graph support from 0.30 on, as rules, first match wins."""
    module = sys.modules[backend.__module__]
    single, uniform = "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH"
    served = {"q_heads_divisible": True, "use_trtllm_attention": "unset", "trtllm_kernels": True}
    out = [{"if": {"decode_context_parallel_size": ">1"}, "value": single}]
    if hasattr(module, "_use_fa2_native_decode"):
        out.append({"if": {"capability_family": [7, 8, None], "use_non_causal": False}, "value": uniform})
        out.append({"if": {"capability_family": [7, 8, None]}, "value": single})
        out.append({"if": {"capability": "9.0", "kv_quant_mode": ["NVFP4"]}, "value": single})
    out.append({"if": {"capability": "9.0", **served, "xqa_head_size": True}, "value": uniform})
    out.append({"if": {"capability_family": 12, **served, "xqa_head_size": True}, "value": uniform})
    out.append({"if": {"capability_family": 10, **served, "use_non_causal": False}, "value": uniform})
    return {"rules": [*out, {"value": single}]}


def cudagraph(row, backend):
    if row["name"] == "FLASHINFER" and hasattr(sys.modules[backend.__module__], "_is_xqa_head_dim_supported"):
        return flashinfer_support(backend)
    if row["cudagraph"].get("builder") == "CompositeAttentionMetadataBuilder":
        return {"rules": [{"if": UNCLAMPED, "value": "NEVER"}, {"value": row["cudagraph"]["default"]}]}
    if row["name"] == "FLASHINFER":
        return flashinfer_before(backend)
    if row["name"] in ("FLASH_ATTN", "FLASH_ATTN_DIFFKV"):
        return flash_attn_support(row)
    if "cases" in row["cudagraph"]:
        return by_case(row["cudagraph"])
    value = rules(row["cudagraph"])
    if isinstance(value, dict) and "rules" in value:
        return {"rules": [{**r, "value": r["value"]["default"]} for r in value["rules"]]}
    return value["default"]


def flashinfer_before(backend):
    """FlashInfer's support up to 0.29; each release that asks for more names it in its function."""
    source = inspect.getsource(backend.get_builder_cls().get_cudagraph_support)
    single, uniform = "UNIFORM_SINGLE_TOKEN_DECODE", "UNIFORM_BATCH"
    served = {"q_heads_divisible": True, "use_trtllm_attention": "unset", "trtllm_kernels": True}
    out = [{"if": {"capability": "9.0"}, "value": single}]
    if "family(120)" in source:
        out.append({"if": {"capability_family": 12, "decode_context_parallel_size": ">1"}, "value": single})
        out.append({"if": {"capability_family": 12, **served}, "value": uniform})
    causal = {"use_non_causal": False} if "use_non_causal" in source else {}
    out.append({"if": {"capability_family": 10, **served, **causal}, "value": uniform})
    return {"rules": [*out, {"value": single}]}


def by_case(observed):
    """Support that hangs on one thing only."""
    (fact,) = {key for case in observed["cases"] for key in case["when"]}
    rest = [case for case in observed["cases"] if case["level"] != observed["default"]]
    found = [{"if": {fact: case["when"][fact]}, "value": case["level"]} for case in rest]
    return {"rules": [*found, {"value": observed["default"]}]}
