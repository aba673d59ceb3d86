"""MiniMax M3: layers that attend to blocks which an indexer picks, with a cache for the indexer's keys."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.fields import Fields
from kvinspect.models.layers import Attention, Given, Layer
from kvinspect.models.scope import Scope

SEEING = "MiniMaxM3SparseForConditionalGeneration"
DRAFT = "MiniMaxM3MTP"
ARCHITECTURES = ("MiniMaxM3SparseForCausalLM", SEEING, DRAFT)


def layers(scope: Scope) -> Iterator[Layer]:
    """Layers with a number other than 0 in `sparse_attention_freq` pick; those of a draft all do, counted from 0."""
    text = scope.text
    if scope.cls == DRAFT:
        for i in range(text.repeats("num_mtp_modules", 1)):
            yield from _picking(scope, f"model.layers.{i}.self_attn.attn", text.layers + i)
        return
    stack = "language_model.model.layers" if scope.cls == SEEING else "model.layers"
    picks = _sparse(text).counts("sparse_attention_freq", text.layers)
    for i in range(text.layers):
        name = f"{stack}.{i}.self_attn.attn"
        if picks and picks[i]:
            yield from _picking(scope, name, i)
        else:
            yield Attention(scope.named(name), i, text.heads, text.kv_heads, text.head_dim)


def _sparse(text: Fields) -> Fields:
    return text.mapping("sparse_attention_config")


def _picking(scope: Scope, name: str, number: int) -> Iterator[Layer]:
    text = scope.text
    size = _sparse(text).count("sparse_index_dim")
    fields = {"head_size": size, "dtype": "bfloat16", "cache_role": "indexer", "max_tp_shards": None}
    index = scope.named(f"{name}.index_cache")
    yield Given(index, number, "MINIMAX_M3_SPARSE_INDEXER", "mla_attention", fields)
    (backend,) = scope.setting.model_backends("minimax_m3")
    yield Attention(scope.named(name), number, text.heads, text.kv_heads, text.head_dim, backend=backend)
