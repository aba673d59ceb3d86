"""Falcon, with one KV head, with many, or with none of its own."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("FalconForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """`num_kv_heads` counts with the new decoder architecture only; else `multi_query` decides."""
    text = scope.text
    kv = 1 if text.flag("multi_query") else text.heads
    if text.flag("new_decoder_architecture"):
        kv = text.count("num_kv_heads", text.heads)
    return scope.decoder("transformer.h", "self_attention.attn", head_size=text.shared_out(), num_kv_heads=kv)
