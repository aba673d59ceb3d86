"""Kernel block sizes as rules, where they hang on more than the device."""

import inspect
import sys

from varying import rules


def quant_modes():
    """The names of the quantisation modes, aliases too, with their numbers."""
    import vllm.v1.kv_cache_interface as interface

    return {mode: member.value for mode, member in interface.KVQuantMode.__members__.items()}


LARGE_PAGES = {"platform": "cuda", "capability_family": [10], "q_heads_divisible": True, "q_heads_grouped": True}

WITH_FA4 = {"attention_config.flash_attn_version": [None, 3, 4]}

DENSE = {"quantized_kv_cache": False, "decode_context_parallel_size": 1}


def block_sizes(row, backend):
    """The kernel block sizes; where they hang on more than the device, the rule behind the observations.

    FlashInfer offers large pages only to grouped queries; FlashAttention 4 has kernels of their own for heads of 256
    on 10.x (by the spec, or by the model up to 0.30) and for FP8 heads of 512 on 9.x; sparse FlashMLA splits quantised
    blocks on 10.x.
    """
    value = rules(row.get("supported_kernel_block_sizes"))
    if row["name"] == "FLASHINFER" and isinstance(value, dict):
        value["rules"][0]["if"] = LARGE_PAGES
    if hasattr(backend, "_get_fa4_hd256_block_size"):
        return {"rules": [*flash_attn_sizes(backend), {"value": ["16n"]}]}
    if row["name"] == "TRITON_FLASH_ATTN":
        flash_attn = sys.modules["vllm.v1.attention.backends.flash_attn"].FlashAttentionBackend
        return {"rules": [*flash_attn_sizes(flash_attn), {"value": ["16n"]}]}
    if row["name"] == "FLASHMLA_SPARSE" and takes_spec(backend):
        modes = [mode for mode in quant_modes() if mode != "NONE"]
        where = {"platform": "cuda", "capability_family": [10], "kv_quant_mode": modes}
        return {"rules": [{"if": where, "value": [64]}, {"value": value}]}
    return value


def takes_spec(backend):
    """Whether the kernel block sizes may hang on the spec (0.33)."""
    return "kv_cache_spec" in inspect.signature(backend.get_supported_kernel_block_sizes).parameters


def flash_attn_sizes(backend):
    """The rules of FlashAttention's class, the general one left out."""
    out = []
    if takes_spec(backend):
        out.append({"if": {"platform": "xpu"}, "value": ["64n"]})
    if hasattr(backend, "_get_sm90_fa4_fp8_kv_block_size"):
        spec = {"kv_quant_mode": ["FP8_PER_TENSOR"], "head_size": [512]}
        out.append({"if": {"platform": "cuda", "capability_family": [9], **spec, **WITH_FA4}, "value": [64]})
    head = {"head_size": [256], "head_size_v": [256]} if takes_spec(backend) else {"model_head_size": [256]}
    out.append({"if": {"platform": "cuda", "capability_family": [10], **head, **DENSE, **WITH_FA4}, "value": [128]})
    return out
