"""Layers with a window or chunks planned like full attention: the hybrid manager switched off, or a fallback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvinspect.document.refusal import Refused
from kvinspect.document.words import SPEC_CLASSES
from kvinspect.provenance import vllm
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.kinds import LayerSpec, Specs, attention, recast
from kvinspect.specs.merging import merges
from kvinspect.specs.uniform_type import UniformTypeSpecs

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease


@vllm("UniformTypeKVCacheSpecs.is_uniform_type")
def of_one_type(specs: Specs, release: PlannerRelease) -> bool:
    """Whether the layers go into one group as they are."""
    return not specs or merges(list(specs.values()), release.merging) or UniformTypeSpecs.of(specs, release) is not None


@vllm("unify_hybrid_kv_cache_specs", since="0.33")
def promoted_by_sharding(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """0.33: caches that decode ranks replicate are made one type by themselves, and so are all others."""
    replicated = {layer for layer, spec in specs.items() if spec.is_attention and not spec.dcp_sharded}
    parts = [{k: v for k, v in specs.items() if (k in replicated) is apart} for apart in (False, True)]
    changed = {layer: spec for part in parts for layer, spec in promoted(part, release).items()}
    return {layer: changed[layer] for layer in specs}


@vllm("unify_hybrid_kv_cache_specs", until="0.30")
def promoted(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """All layers with full attention's needs (`unify_hybrid_kv_cache_specs`). Raises Refused where kinds remain."""
    if of_one_type(specs, release):
        return dict(specs)
    changed = release.as_full_attention(specs, release)
    if not of_one_type(changed, release):
        text = "the hybrid KV cache manager is off, and the layers do not become one type"
        raise Refused("ValueError", text, function="unify_hybrid_kv_cache_specs", kind="not-one-type")
    return changed


def _has_full_and_local(specs: Specs) -> bool:
    return any(spec.keeps_all for spec in specs.values()) and any(spec.kept_as for spec in specs.values())


@vllm("unify_hybrid_kv_cache_specs", until="0.26")
def keeping_blocks(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """0.25 and 0.26: each layer keeps its block; latents take that of the first layer with full attention."""
    latent = any(spec.latent_window for spec in specs.values())
    full = next((spec.block_size for spec in specs.values() if spec.keeps_all), None)
    if full is None:
        if latent:
            raise Refused("AssertionError", "no layer has full attention", function="unify_hybrid_kv_cache_specs")
        return dict(specs)

    def one(spec: LayerSpec) -> LayerSpec:
        """A spec that keeps every token; `size` is in tokens."""
        if not spec.is_attention or not spec.kept_as:
            return spec
        size = full if latent and spec.latent_window else spec.block_size
        return release.rebuilt(_plain(spec), block_size=size)

    return {layer: one(spec) for layer, spec in specs.items()}


@vllm("_promote_local_kv_cache_specs", since="0.27", until="0.27")
def to_one_block(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """0.27: where full attention has one block size, all take it, and padding grows with the page."""
    return _to_one_block(specs, release, plain=True)


@vllm("_promote_local_kv_cache_specs", "replace_as", since="0.28")
def keeping_fields(specs: Specs, release: PlannerRelease) -> dict[str, LayerSpec]:
    """0.28: the same, and every field stays what it was (`replace_as`)."""
    return _to_one_block(specs, release, plain=False)


def _to_one_block(specs: Specs, release: PlannerRelease, plain: bool) -> dict[str, LayerSpec]:
    if not _has_full_and_local(specs):
        return dict(specs)
    full = {spec.block_size for spec in specs.values() if spec.keeps_all}
    only = full.pop() if len(full) == 1 else None

    def one(spec: LayerSpec) -> LayerSpec:
        """A spec that keeps every token, in blocks of the one size (tokens) and with a page (bytes) to match."""
        if not spec.is_attention or not spec.kept_as:
            return spec
        size = only or spec.block_size
        full_spec = _plain(spec) if plain else _recast(spec, release)
        return release.rebuilt(full_spec, block_size=size, page_size_padded=_padding(spec, size, release))

    return {layer: one(spec) for layer, spec in specs.items()}


def _recast(spec: AttentionSpec, release: PlannerRelease) -> AttentionSpec:
    """A local spec as one of full attention with all its fields. Raises Refused where that class lacks one of them."""
    classes = release.catalogue["spec_classes"]
    own, full = SPEC_CLASSES[spec.kind], SPEC_CLASSES[spec.kept_as]
    known = {*classes[full]["required"], *classes[full]["optional"], "extra_retained_tokens"}
    lost = [field for field in (*classes[own]["required"], *classes[own]["optional"]) if field not in known]
    if lost:
        text = f"{own} cannot be planned as {full}, which has no {' and no '.join(lost)}"
        raise Refused("TypeError", text, function="_promote_local_kv_cache_specs", kind="not-one-type")
    return recast(spec, spec.kept_as, extra_retained_tokens=0)


def _padding(spec: AttentionSpec, block_size: int, release: PlannerRelease) -> int | None:
    if spec.page_size_padded is None:
        return None
    return max(spec.page_size_padded, spec.unpadded_bytes(release.unpadded) * block_size // spec.block_size)


def _plain(spec: AttentionSpec) -> AttentionSpec:
    """A local spec as one of full attention, with the fields that the engine hands on."""
    full = attention(
        spec.kept_as,
        block_size=spec.block_size,
        num_kv_heads=spec.num_kv_heads,
        head_size=spec.head_size,
        head_size_v=spec.head_size,
        dtype=spec.dtype,
        page_size_padded=spec.page_size_padded,
    )
    return full._replace(**{field: getattr(spec, field) for field in spec.handed_on})


@vllm("get_kv_cache_groups", until="0.26")
def no_fallback(specs: Specs, release: PlannerRelease) -> UniformTypeSpecs | None:
    """0.25 and 0.26: pages that cannot be made alike stop the engine."""
    return None


@vllm("_try_get_full_allocation_fallback_groups", since="0.27")
def all_as_full(specs: Specs, release: PlannerRelease) -> UniformTypeSpecs | None:
    """From 0.27 on: latent layers beside windows are planned as full attention where their pages do not fit."""
    found = specs.values()
    if any(spec.hidden_states or spec.latent_window or spec.chunked for spec in found):
        return None
    if not (any(spec.latent for spec in found) and any(spec.windowed for spec in found)):
        return None
    try:
        return UniformTypeSpecs.of(promoted(specs, release), release)
    except Refused as refused:
        if refused.refusal.type != "ValueError":
            raise
        return None
