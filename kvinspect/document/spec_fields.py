"""Which fields a KV cache spec of each kind has, over all releases, and the check of a written spec against that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvinspect.document.problem import Path, Problem, nearest, shown
from kvinspect.document.words import KIND_OF_WORD, SPEC_CLASSES

NAMING = ("kind", "type", "backend")
"""Keys that say what a spec is, and are no field of it."""

MARKS = (
    "max_tp_shards", "topk_buffer_width", "cache_role", "is_index_group_leader", "bounded_replay", "is_draft",
    "num_prefill_checkpoint_blocks", "prefill_checkpoint_alignment", "tp_replicated",
)  # fmt: skip
"""Fields of 0.29 on that say nothing of where bytes lie."""

_ALL = ("dcp_sharded", "block_stride_alignment", "is_draft")
_ATTENTION = ("block_size", "num_kv_heads", "head_size", "dtype")
_LATENT = ("block_size", "head_size", "dtype")
_COMMON = (
    "head_size_v", "kv_quant_mode", "page_size_padded", "indexes_kv_by_block_stride", "num_head_slots",
    "state_content_bytes", "tokens_per_state", "dcp_sharded", "block_stride_alignment", "is_draft", "max_tp_shards",
)  # fmt: skip
_FULL = (*_COMMON, "sliding_window", "attention_chunk_size", "non_causal")
_COMPRESSED = ("num_kv_heads", "cache_dtype_str", "alignment", "compress_ratio", "model_version")
_WINDOW_MLA = (*_COMMON, "extra_retained_tokens", *_COMPRESSED, "bounded_replay")
_MLA = (
    *_FULL, *_COMPRESSED, "non_causal_multi_token_decode", "topk_buffer_width", "cache_role", "is_index_group_leader",
    "storage_block_size",
)  # fmt: skip
_MAMBA = (
    "page_size_padded", "mamba_type", "mamba_cache_mode", "num_speculative_blocks", "num_prefill_checkpoint_blocks",
    "prefill_checkpoint_alignment", "num_heads", "tokens_per_state", "tp_replicated", "dcp_sharded",
    "block_stride_alignment", "is_draft",
)  # fmt: skip

FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "full_attention": (_ATTENTION, _FULL),
    "tq_full_attention": (_ATTENTION, (*_FULL, "tq_slot_size")),
    "rswa": ((*_ATTENTION, "rswa_window"), _FULL),
    "sink_full_attention": (_ATTENTION, (*_FULL, "sink_len")),
    "mla_attention": (_LATENT, _MLA),
    "hidden_state_cache": (_LATENT, _MLA),
    "sliding_window": ((*_ATTENTION, "sliding_window"), (*_COMMON, "extra_retained_tokens")),
    "sliding_window_mla": ((*_LATENT, "sliding_window"), _WINDOW_MLA),
    "chunked_local_attention": ((*_ATTENTION, "attention_chunk_size"), _COMMON),
    "cross_attention": (_ATTENTION, _COMMON),
    "encoder_only_attention": (_ATTENTION, _COMMON),
    "circular_buffer": (_ATTENTION, _COMMON),
    "kpool_tail": ((*_ATTENTION, "sliding_window"), (*_COMMON, "extra_retained_tokens")),
    "hisparse_hot": (("block_size", "page_size", "blocks_per_request"), _ALL),
    "hisparse_resident": (("block_size", "page_size"), _ALL),
    "mamba": (("block_size", "shapes", "dtypes"), _MAMBA),
    "uniform_type": (("kv_cache_specs",), ("block_size", *_ALL)),
}
"""Kind → (fields that have to be there, fields that may be)."""


def spec_problems(raw: Mapping[str, Any], path: Path, nested: bool = False) -> Iterator[Problem]:
    """What is wrong with a written spec as a whole; the types of its values are checked elsewhere."""
    kind = kind_of(raw)
    if kind is None or (nested and kind == "uniform_type"):
        yield _kind_problem(raw, path, nested)
        return
    required, optional = FIELDS[kind]
    for name in required:
        if raw.get(name) is None:
            yield Problem((*path, name), message=f"is missing from this {kind} spec", kind="missing")
    for name in raw:
        if raw[name] is not None and name not in (*required, *optional, *NAMING):
            yield _field_problem(str(name), kind, path)
    inner = raw.get("kv_cache_specs")
    if kind == "uniform_type" and inner == {}:
        yield Problem((*path, "kv_cache_specs"), message="names no layer", kind="missing")
    if kind == "uniform_type" and isinstance(inner, Mapping):
        for layer, spec in inner.items():
            if isinstance(spec, Mapping):
                yield from spec_problems(spec, (*path, "kv_cache_specs", layer), nested=True)


def kind_of(raw: Mapping[str, Any]) -> str | None:
    """The kind that a spec names under `kind` or `type`, None where it names no known one."""
    word = raw.get("kind") or raw.get("type")
    return KIND_OF_WORD.get(word) if isinstance(word, str) else None


def _kind_problem(raw: Mapping[str, Any], path: Path, nested: bool) -> Problem:
    key = "type" if "type" in raw and "kind" not in raw else "kind"
    kinds = [kind for kind in SPEC_CLASSES if not (nested and kind == "uniform_type")]
    expected = "one of " + ", ".join(kinds)
    word = raw.get(key)
    if word is None:
        return Problem((*path, key), message="is missing", expected=expected, kind="missing")
    near = nearest(word, KIND_OF_WORD) if isinstance(word, str) else ""
    return Problem((*path, key), expected=expected, found=shown(word), nearest=near)


def _field_problem(name: str, kind: str, path: Path) -> Problem:
    known = [field for fields in FIELDS[kind] for field in fields]
    everywhere = {field for pair in FIELDS.values() for fields in pair for field in fields}
    message = f"no field of a {kind} spec" if name in everywhere else "unknown key"
    near = nearest(name, known)
    return Problem((*path, name), message=message, nearest=near, at_key=True, kind="unknown-key")
