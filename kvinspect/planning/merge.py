"""Which specs are one spec: `merge` of each spec class.

A merge that fails is the engine's AssertionError or ValueError and decides how layers are grouped, so it is a Refused
here that a caller may catch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvinspect.engine.refusal import Refused
from kvinspect.engine.specs import FULL, AttentionSpec, LayerSpec, MambaSpec

LATENT_FULL = ("mla_attention", "hidden_state_cache")
"""Kinds whose class derives from MLAAttentionSpec."""


class MergeRules(NamedTuple):
    """The fields that a release compares when it merges attention specs, and those of latent ones."""

    compared: tuple[str, ...]
    latent_compared: tuple[str, ...]
    latent_has_v: bool
    """Whether a merged latent spec says `head_size_v` again."""


def merged(specs: Iterable[LayerSpec], rules: MergeRules) -> LayerSpec:
    """The one spec of layers, as the class of the first merges them. Raises Refused where they are not alike."""
    distinct = list(dict.fromkeys(specs))
    first = distinct[0]
    if isinstance(first, MambaSpec) or first.kind not in (*FULL, "sliding_window_mla"):
        _same(distinct)
        return first
    attention = [spec for spec in distinct if isinstance(spec, AttentionSpec)]
    if len(attention) != len(distinct):
        raise _unlike("attention layers stand beside state-space layers")
    if first.kind in LATENT_FULL:
        return _latents(attention, rules)
    if first.kind == "sliding_window_mla":
        return _sliding_latents(attention, rules)
    return _full(attention, rules)


def merges(specs: Sequence[LayerSpec], rules: MergeRules) -> bool:
    """Whether layers of these specs go together (`is_kv_cache_spec_uniform`).

    Raises Refused where the engine's own check stumbles: windows or chunks of several sizes are a ValueError there.
    """
    try:
        merged(specs, rules)
    except Refused as refused:
        if refused.refusal.type != "AssertionError":
            raise
        return False
    return True


def _same(specs: Sequence[LayerSpec]) -> None:
    if len(specs) > 1:
        raise _unlike("the layers' specs differ")


def _full(specs: Sequence[AttentionSpec], rules: MergeRules) -> LayerSpec:
    """`FullAttentionSpec.merge` and those of its subclasses."""
    first = specs[0]
    if any(spec.kind not in FULL for spec in specs):
        raise _unlike("full attention stands beside another kind")
    if first.kind == "rswa":
        _rswa(specs)
    if any(spec.kind in LATENT_FULL for spec in specs):
        raise _unlike("full attention stands beside latent attention")
    window = _one_size({spec.sliding_window for spec in specs} - {None}, "windows")
    chunk = _one_size({spec.attention_chunk_size for spec in specs} - {None}, "chunks")
    _agree(specs, rules.compared)
    if window is not None and chunk is not None:
        raise _unlike("some layers have a sliding window and some chunks")
    if first.kind == "tq_full_attention":
        _turboquant(specs)
    if first.kind == "sink_full_attention" and "compress_ratio" in rules.compared and first.compress_ratio != 1:
        raise _unlike("a spec with sinks that says tokens_per_state differs from what it is merged into")
    causal = not any(spec.non_causal for spec in specs)
    return first._replace(sliding_window=window, attention_chunk_size=chunk, non_causal=not causal)


def _rswa(specs: Sequence[AttentionSpec]) -> None:
    if any(spec.kind != "rswa" for spec in specs):
        raise _unlike("reference sliding windows stand beside another kind")
    _agree(specs, ("rswa_window",))


def _turboquant(specs: Sequence[AttentionSpec]) -> None:
    if any(spec.kind != "tq_full_attention" for spec in specs):
        raise Refused("AttributeError", "TurboQuant layers stand beside full attention without slots", function="merge")
    _agree(specs, ("tq_slot_size",))


def _latents(specs: Sequence[AttentionSpec], rules: MergeRules) -> LayerSpec:
    """`MLAAttentionSpec.merge`: what belongs to other classes, and the alignment, is not handed on."""
    first = specs[0]
    if any(spec.kind not in LATENT_FULL for spec in specs):
        raise _unlike("latent attention stands beside another kind")
    _agree(specs, ("cache_dtype_str", "compress_ratio", "model_version", "indexes_kv_by_block_stride", "marks"))
    _agree(specs, ("view_block_size", "block_stride_alignment", *rules.latent_compared))
    if first.head_size_v and not rules.latent_has_v:
        raise _unlike("a latent spec that says head_size_v again differs from what it is merged into")
    return first._replace(
        head_size_v=first.head_size if rules.latent_has_v else 0,
        alignment=None,
        sliding_window=None,
        attention_chunk_size=None,
        non_causal=False,
        non_causal_multi_token_decode=any(spec.non_causal_multi_token_decode for spec in specs),
    )


def _sliding_latents(specs: Sequence[AttentionSpec], rules: MergeRules) -> LayerSpec:
    """`SlidingWindowMLASpec.merge`, which hands on neither the alignment, nor the quantisation, nor a size of V."""
    if any(spec.kind != "sliding_window_mla" for spec in specs):
        raise _unlike("sliding windows over latents stand beside another kind")
    same = ("cache_dtype_str", "compress_ratio", "model_version", "sliding_window", "indexes_kv_by_block_stride")
    _agree(specs, (*same, "extra_retained_tokens", "marks", "dcp_sharded", "block_stride_alignment"))
    size = specs[0].head_size if rules.latent_has_v else 0
    return specs[0]._replace(alignment=None, kv_quant_mode="NONE", head_size_v=size)


def _agree(specs: Sequence[AttentionSpec], fields: Iterable[str]) -> None:
    for field in fields:
        values = {getattr(spec, field) for spec in specs}
        if len(values) > 1:
            raise _unlike(f"the layers differ in {field}: {', '.join(sorted(map(str, values)))}")


def _one_size(sizes: set[int | None], what: str) -> int | None:
    if len(sizes) > 1:
        found = ", ".join(sorted(map(str, sizes)))
        raise Refused("ValueError", f"layers of one group have {what} of several sizes: {found}", function="merge")
    return next(iter(sizes), None)


def _unlike(text: str) -> Refused:
    return Refused("AssertionError", text, function="merge", kind="unlike-specs")
