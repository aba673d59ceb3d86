"""Dory: attention in some layers, each with a cache for every turn of the layers in the middle."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope, by_layer_type

ARCHITECTURES = ("DoryForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """Layers called `mlp` have none; a turn counts on in the names."""
    text = scope.text
    kinds, first = text.layer_types() or (), text.count("n_input_layers", 0, least=0)
    behind = text.layers - text.count("n_output_layers", 0, least=0)
    for i in range(text.layers):
        if kinds and kinds[i] == "mlp":
            continue
        again = first <= i < behind and text.is_word("recurrent_kv_cache_mode", "per_loop")
        for turn in range(text.repeats("n_recurrent_loops", 1) if again else 1):
            name = scope.named(f"backbone.layers.{turn * text.layers + i}.mixer.attn")
            yield Attention(name, i, text.heads, text.kv_heads, text.head_dim, sliding_window=by_layer_type(text, i))
