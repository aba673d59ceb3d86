"""Gemma 3n and 4: late layers use the cache of an earlier layer of their kind, and heads may differ by kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope, by_layer_type

ARCHITECTURES = ("Gemma3nForCausalLM", "Gemma4ForCausalLM")


def layers(scope: Scope) -> Iterator[Layer]:
    """Layers from `num_kv_shared_layers` before the end on have a target instead of a cache."""
    text = scope.text
    kinds = text.layer_types() or ["full_attention"] * text.layers
    first_shared = text.layers - text.count("num_kv_shared_layers", 0, least=0)
    stack = "model.layers"
    for i, kind in enumerate(kinds[: text.layers]):
        target = _target(scope, kinds, i, first_shared)
        size, kv = _heads(scope, kind)
        yield Attention(
            scope.named(f"{stack}.{i}.self_attn.attn"),
            i,
            text.heads,
            kv,
            size,
            sliding_window=by_layer_type(text, i),
            kv_sharing_target=None if target is None else scope.named(f"{stack}.{target}.self_attn.attn"),
        )


def _heads(scope: Scope, kind: str) -> tuple[int, int]:
    """(head size, KV heads) of a kind of layer; Gemma 4's full attention has its own."""
    text = scope.text
    if scope.cls == "Gemma3nForCausalLM" or kind == "sliding_attention":
        return text.head_dim, text.kv_heads
    same = text.flag("attention_k_eq_v")
    kv = text.count("num_global_key_value_heads", text.kv_heads) if same else text.kv_heads
    return text.count("global_head_dim", text.head_dim), kv


def _target(scope: Scope, kinds: Sequence[str], index: int, first_shared: int) -> int | None:
    """The layer whose cache a late layer uses, None for layers that have one themselves.

    Gemma 3n takes the last layer before sharing, and the one before it for windows; Gemma 4 the last of the same kind.
    """
    if index < first_shared or first_shared >= len(kinds):
        return None
    if scope.cls == "Gemma3nForCausalLM":
        target = first_shared - (2 if kinds[index] == "sliding_attention" else 1)
        return target if target >= 0 else None
    same = next((i for i in range(first_shared - 1, -1, -1) if kinds[i] == kinds[index]), None)
    if same is None:
        scope.text.refuse("num_kv_shared_layers", f"no layer before {first_shared} is of the kind {kinds[index]}")
    return same
