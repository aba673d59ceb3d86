"""Llama 4: layers with rotary positions attend within chunks, the others over everything."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Attention, Layer

ARCHITECTURES = ("Llama4ForCausalLM",)


def layers(here: Here) -> Iterator[Layer]:
    """`no_rope_layers` says by a zero which layers are global."""
    text = here.text
    rope = text.counts("no_rope_layers", text.layers)
    chunk = text.maybe_tokens("attention_chunk_size")
    for i in range(text.layers):
        yield Attention(
            here.named(f"model.layers.{i}.self_attn.attn"),
            i,
            text.heads,
            text.kv_heads,
            text.head_dim,
            attention_chunk_size=chunk if not rope or rope[i] else None,
        )
