"""The rules that took part in an answer, each with its step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kvinspect.engine import reshape
from kvinspect.engine.reason import TakenRule
from kvinspect.engine.release import Given
from kvinspect.engine.stages import Built, Views


def rules_taken(given: Given, built: Built, views: Views) -> tuple[TakenRule, ...]:
    """Return the rules of the release that were called for this cache, in the engine's order."""
    return tuple(TakenRule(*taken) for taken in _taking_part(given, built, views))


def _taking_part(given: Given, built: Built, views: Views) -> Iterator[tuple[str, Callable[..., Any]]]:
    """(step, rule) of each of them."""
    release, document = given.release, given.document
    holds_states, has_attention = _kinds(built)
    yield "page size", release.aligned_spec
    if has_attention:
        yield from (("page size", release.customized_spec), ("page size", release.unpadded))
    yield "layout", release.layout
    yield "placement", release.tensors
    if document.tensors is None:
        yield "placement", release.place
        if not release.one_buffer and any(tensor.block_stride for tensor in built.tensors):
            yield "placement", release.packed_placement
    if document.model.kernel_block_sizes is None:
        yield "kernel blocks", release.kernel_blocks
    yield "views", release.views
    if not release.one_buffer:
        yield from (("views", rule) for rule in _reshaping(given, views, holds_states, has_attention))
        if release.model_step is not None and not views.across_layers:
            yield "alignment", release.model_step


def _kinds(built: Built) -> tuple[bool, bool]:
    """(whether a layer holds states, whether a layer has attention)."""
    attention = [group.spec.is_attention for group in built.attention.flat]
    return not all(attention), any(attention)


def _reshaping(given: Given, views: Views, holds_states: bool, has_attention: bool) -> Iterator[Callable[..., Any]]:
    """The rules of the views up to 0.28, which differ between releases one by one."""
    rules = given.release.reshape
    if rules.across_layers is not None and views.across_layers:
        yield rules.across_layers
        return
    if given.release.page_aligned_step:
        yield reshape.kv_first_beside_mamba
    yield rules.has_views
    if has_attention:
        yield from (rules.cache_dtype_of, rules.kernel_blocks)
    if holds_states:
        yield rules.state_parts
    if has_attention and any(place.packing for place in views.places.values()):
        yield rules.packed_shape
