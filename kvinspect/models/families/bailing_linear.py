"""Ring and Ling 2.5 (Bailing): linear attention, with latent attention at the end of every group of layers."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Latent, Layer
from kvinspect.models.states import States

ARCHITECTURES = ("BailingMoeV25ForCausalLM",)


def layers(here: Here) -> Iterator[Layer]:
    """`layer_group_size` layers are a group."""
    text, states = here.text, States(here)
    group = text.count("layer_group_size", 1)
    nope = text.count("qk_nope_head_dim", 128)
    size = text.count("kv_lora_rank", 512) + text.count("qk_rope_head_dim", 64)
    for i in range(text.layers):
        prefix = f"model.layers.{i}.self_attn"
        if _is_linear(i, group):
            yield states.linear(prefix, i, text.heads, text.head_dim, "BAILING_LINEAR_ATTN")
        else:
            yield Latent(here.named(f"{prefix}.attn"), i, text.heads, size, facts={"qk_nope_head_dim": nope})


def _is_linear(layer: int, group: int) -> bool:
    return (layer + 1) % group != 0
