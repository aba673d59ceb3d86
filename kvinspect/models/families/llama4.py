"""Llama 4: layers with rotary positions attend within chunks, the others over everything."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("Llama4ForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """`no_rope_layers` says by a zero which layers are global."""
    text = scope.text
    rope = text.counts("no_rope_layers", text.layers)
    chunk = text.maybe_tokens("attention_chunk_size")
    for i in range(text.layers):
        yield Attention(
            scope.named(f"model.layers.{i}.self_attn.attn"),
            i,
            text.heads,
            text.kv_heads,
            text.head_dim,
            attention_chunk_size=chunk if not rope or rope[i] else None,
        )
