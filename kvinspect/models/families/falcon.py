"""Falcon, with one KV head, with many, or with none of its own."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Layer

ARCHITECTURES = ("FalconForCausalLM",)


def layers(here: Here) -> Iterator[Layer]:
    """`num_kv_heads` counts with the new decoder architecture only; else `multi_query` decides."""
    text = here.text
    kv = 1 if text.flag("multi_query") else text.heads
    if text.flag("new_decoder_architecture"):
        kv = text.count("num_kv_heads", text.heads)
    return here.decoder("transformer.h", "self_attention.attn", head_size=text.shared_out(), num_kv_heads=kv)
