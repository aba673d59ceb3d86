"""MiniMax M3: layers that attend to blocks which an indexer picks, with a cache for the indexer's keys."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.fields import Fields
from kvinspect.models.here import Here
from kvinspect.models.layers import Attention, Given, Layer

SEEING = "MiniMaxM3SparseForConditionalGeneration"
DRAFT = "MiniMaxM3MTP"
ARCHITECTURES = ("MiniMaxM3SparseForCausalLM", SEEING, DRAFT)


def layers(here: Here) -> Iterator[Layer]:
    """Layers with a number other than 0 in `sparse_attention_freq` pick; those of a draft all do, counted from 0."""
    text = here.text
    if here.cls == DRAFT:
        for i in range(text.repeats("num_mtp_modules", 1)):
            yield from _picking(here, f"model.layers.{i}.self_attn.attn", text.layers + i)
        return
    stack = "language_model.model.layers" if here.cls == SEEING else "model.layers"
    picks = _sparse(text).counts("sparse_attention_freq", text.layers)
    for i in range(text.layers):
        name = f"{stack}.{i}.self_attn.attn"
        if picks and picks[i]:
            yield from _picking(here, name, i)
        else:
            yield Attention(here.named(name), i, text.heads, text.kv_heads, text.head_dim)


def _sparse(text: Fields) -> Fields:
    return text.mapping("sparse_attention_config")


def _picking(here: Here, name: str, number: int) -> Iterator[Layer]:
    text = here.text
    size = _sparse(text).count("sparse_index_dim")
    fields = {"head_size": size, "dtype": "bfloat16", "cache_role": "indexer", "max_tp_shards": None}
    index = here.named(f"{name}.index_cache")
    yield Given(index, number, "MINIMAX_M3_SPARSE_INDEXER", "mla_attention", fields)
    (backend,) = here.setting.own_backends("minimax_m3")
    yield Attention(here.named(name), number, text.heads, text.kv_heads, text.head_dim, backend=backend)
