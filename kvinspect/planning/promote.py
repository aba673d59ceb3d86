"""Layers with a window or chunks planned like full attention: the hybrid manager switched off, or a fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvinspect.document.words import SPEC_CLASSES
from kvinspect.engine.pages import unpadded_bytes
from kvinspect.engine.refusal import Refused
from kvinspect.engine.specs import FULL, AttentionSpec, LayerSpec, UniformTypeSpecs
from kvinspect.planning.merge import merges
from kvinspect.planning.uniform import Specs, uniform_type

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease

LOCAL = {
    "sliding_window": "full_attention",
    "sliding_window_mla": "mla_attention",
    "chunked_local_attention": "full_attention",
}
"""Kinds that keep less than all tokens → the kind that keeps them all."""


def of_one_type(specs: Specs, release: PlannerRelease) -> bool:
    """Whether the layers go into one group as they are."""
    return not specs or merges(list(specs.values()), release.merging) or uniform_type(specs, release) is not None


def promoted_by_sharding(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """0.33: caches that decode ranks replicate are made one type by themselves, and so are all others."""
    replicated = {layer for layer, spec in specs.items() if isinstance(spec, AttentionSpec) and not spec.dcp_sharded}
    parts = [{k: v for k, v in specs.items() if (k in replicated) is apart} for apart in (False, True)]
    changed = {layer: spec for part in parts for layer, spec in promoted(part, release).items()}
    return {layer: changed[layer] for layer in specs}


def promoted(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """All layers with full attention's needs (`unify_hybrid_kv_cache_specs`). Raises Refused where kinds remain."""
    if of_one_type(specs, release):
        return dict(specs)
    changed = release.promote(specs, release)
    if not of_one_type(changed, release):
        text = "the hybrid KV cache manager is off, and the layers do not become one type"
        raise Refused("ValueError", text, function="unify_hybrid_kv_cache_specs", kind="not-one-type")
    return changed


def _has_full_and_local(specs: Specs) -> bool:
    kinds = {spec.kind for spec in specs.values()}
    return bool(kinds & set(FULL)) and bool(kinds & set(LOCAL))


def keeping_blocks(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """0.25 and 0.26: each layer keeps its block; latents take that of the first layer with full attention."""
    latent = any(spec.kind == "sliding_window_mla" for spec in specs.values())
    full = next((spec.block_size for spec in specs.values() if spec.kind in FULL), None)
    if full is None:
        if latent:
            raise Refused("AssertionError", "no layer has full attention", function="unify_hybrid_kv_cache_specs")
        return dict(specs)

    def one(spec: LayerSpec) -> LayerSpec:
        if not isinstance(spec, AttentionSpec) or spec.kind not in LOCAL:
            return spec
        size = full if latent and spec.kind == "sliding_window_mla" else spec.block_size
        return release.rebuilt(_plain(spec), block_size=size)

    return {layer: one(spec) for layer, spec in specs.items()}


def to_one_block(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """0.27: where full attention has one block size, all take it, and padding grows with the page."""
    return _to_one_block(specs, release, plain=True)


def keeping_fields(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """0.28: the same, and every field stays what it was (`replace_as`)."""
    return _to_one_block(specs, release, plain=False)


def _to_one_block(specs: Specs, release: PlannerRelease, plain: bool) -> dict[str, LayerSpec]:
    if not _has_full_and_local(specs):
        return dict(specs)
    full = {spec.block_size for spec in specs.values() if spec.kind in FULL}
    only = full.pop() if len(full) == 1 else None

    def one(spec: LayerSpec) -> LayerSpec:
        if not isinstance(spec, AttentionSpec) or spec.kind not in LOCAL:
            return spec
        size = only or spec.block_size
        full_spec = _plain(spec) if plain else _recast(spec, release)
        return release.rebuilt(full_spec, block_size=size, page_size_padded=_padding(spec, size, release))

    return {layer: one(spec) for layer, spec in specs.items()}


def _recast(spec: AttentionSpec, release: PlannerRelease) -> AttentionSpec:
    """A local spec as one of full attention with all its fields. Raises Refused where that class lacks one of them."""
    classes = release.catalogue["spec_classes"]
    own, full = SPEC_CLASSES[spec.kind], SPEC_CLASSES[LOCAL[spec.kind]]
    known = {*classes[full]["required"], *classes[full]["optional"], "extra_retained_tokens"}
    lost = [field for field in (*classes[own]["required"], *classes[own]["optional"]) if field not in known]
    if lost:
        text = f"{own} cannot be planned as {full}, which has no {' and no '.join(lost)}"
        raise Refused("TypeError", text, function="_promote_local_kv_cache_specs", kind="not-one-type")
    return spec._replace(kind=LOCAL[spec.kind], extra_retained_tokens=0)


def _padding(spec: AttentionSpec, block_size: int, release: PlannerRelease) -> int | None:
    if spec.page_size_padded is None:
        return None
    return max(spec.page_size_padded, unpadded_bytes(spec, release.unpadded) * block_size // spec.block_size)


def _plain(spec: AttentionSpec) -> AttentionSpec:
    """A local spec as one of full attention, with the fields that the engine hands on."""
    full = AttentionSpec(
        kind=LOCAL[spec.kind],
        block_size=spec.block_size,
        num_kv_heads=spec.num_kv_heads,
        head_size=spec.head_size,
        head_size_v=spec.head_size,
        dtype=spec.dtype,
        page_size_padded=spec.page_size_padded,
    )
    if spec.kind == "chunked_local_attention":
        return full._replace(attention_chunk_size=spec.attention_chunk_size)
    if spec.kind == "sliding_window":
        return full._replace(
            head_size_v=spec.head_size_v, kv_quant_mode=spec.kv_quant_mode, sliding_window=spec.sliding_window
        )
    return full._replace(
        cache_dtype_str=spec.cache_dtype_str,
        alignment=spec.alignment,
        compress_ratio=spec.compress_ratio,
        model_version=spec.model_version,
    )


def no_fallback(specs: Specs, release: PlannerRelease) -> UniformTypeSpecs | None:
    """0.25 and 0.26: pages that cannot be made alike stop the engine."""
    return None


def all_as_full(specs: Specs, release: PlannerRelease) -> UniformTypeSpecs | None:
    """From 0.27 on: latent layers beside windows are planned as full attention where their pages do not fit."""
    kinds = {spec.kind for spec in specs.values()}
    if kinds & {"hidden_state_cache", "sliding_window_mla", "chunked_local_attention"}:
        return None
    if not {"mla_attention", "sliding_window"} <= kinds:
        return None
    try:
        return uniform_type(promoted(specs, release), release)
    except Refused as refused:
        if refused.refusal.type != "ValueError":
            raise
        return None
