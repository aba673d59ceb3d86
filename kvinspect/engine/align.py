"""The alignment of views that share an allocation, allocation by allocation.

Follows `_align_mixed_attention_kv_cache_views` and `_restride_blocks_first_kv_cache_to_kv_first_storage` (0.25 to
0.28), and for models with state-space layers `_update_hybrid_attention_layout` (0.25, 0.26). The engine stops at the
first refusal; here every allocation is judged by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from kvinspect.document.document import Tensor
from kvinspect.document.refusal import Refusal, Refused
from kvinspect.engine.reshape import LayerView
from kvinspect.geometry import StridedView, ViewError, contiguous_strides

FUNCTION = "_align_mixed_attention_kv_cache_views"
UNCHANGED, RESTRIDED, SKIPPED, REFUSED = "unchanged", "restrided", "skipped", "refused"


@dataclass
class TensorOutcome:
    """What the alignment did to the views on one allocation."""

    views: dict[str, LayerView]
    decisions: dict[str, str] = field(default_factory=dict)
    refusal: Refusal | None = None
    deed: str = ""
    """What the step did, where the decision alone does not say it."""


class UnalignedViews(NamedTuple):
    """What the alignment looks at: the views by layer, and each attention layer's block dim."""

    views: Mapping[str, LayerView]
    block_dims: Mapping[str, int]
    """Of attention layers with a view of their own."""
    page_aligned: frozenset[str] = frozenset()
    """K/V-first layers that are built page by page already (0.28)."""


def align_mixed(tensor: Tensor, unaligned: UnalignedViews) -> TensorOutcome:
    """Where views of block dim 0 and of block dim 1 share an allocation, move the former onto K/V-first storage."""
    outcome = start(tensor, unaligned.views)
    dims = {unaligned.block_dims[layer] for layer in tensor.shared_by if layer in unaligned.block_dims}
    aligned_already = not unaligned.page_aligned.isdisjoint(tensor.shared_by)
    if tensor.block_stride > 0 or not {0, 1} <= dims or aligned_already:
        return outcome
    for layer in tensor.shared_by:
        if unaligned.block_dims.get(layer) == 0 and outcome.refusal is None:
            attempt(outcome, layer, onto_kv_first)
    return outcome


def onto_kv_first(view: StridedView) -> StridedView | None:
    """A blocks-first view `[blocks, 2, …]` with K of all blocks before V of all blocks; None where the engine skips it.

    Raises Refused where the engine asserts.
    """
    if len(view.shape) < 3:
        raise Refused("AssertionError", f"a view {list(view.shape)} has fewer than 3 dims")
    if view.shape[1] != 2:
        raise Refused("AssertionError", f"a view {list(view.shape)} has no dim 1 of size 2 for K and V")
    tail = contiguous_strides(view.shape[2:])
    if view.stride[2:] != tail:
        return None
    page = prod(view.shape[2:])
    return view.as_strided(view.shape, (page, view.shape[0] * page, *tail))


def align_hybrid(tensor: Tensor, unaligned: UnalignedViews) -> TensorOutcome:
    """In a model with state-space layers, move every K/V-first view onto blocks-first storage (0.25, 0.26)."""
    outcome = start(tensor, unaligned.views)
    for layer in tensor.shared_by:
        dim = unaligned.block_dims.get(layer, 0)
        if dim == 0:
            continue
        if dim != 1:
            text = f"next to state-space layers, the block dim must be 0 or 1, but {layer} has it at {dim}"
            refuse(outcome, layer, Refusal("AssertionError", text, "_update_hybrid_attention_layout"))
        elif unaligned.views[layer].parts[0].view.shape[0] == 2:
            attempt(outcome, layer, onto_blocks_first)
    return outcome


def onto_blocks_first(view: StridedView) -> StridedView:
    """A K/V-first view `[2, blocks, …]` with K and V of each block side by side. Raises Refused where both are 2."""
    if view.shape[1] == 2:
        text = f"in a view {list(view.shape)} K/V and blocks cannot be told apart"
        raise Refused("AssertionError", text, function="_update_hybrid_attention_layout")
    block = prod(view.shape[2:])
    return view.as_strided(view.shape, (block, 2 * block, *view.stride[2:]))


def start(tensor: Tensor, views: Mapping[str, LayerView]) -> TensorOutcome:
    """The views on an allocation, nothing decided yet."""
    return TensorOutcome({layer: views[layer] for layer in tensor.shared_by if layer in views})


def attempt(
    outcome: TensorOutcome, layer: str, move: Callable[[StridedView], StridedView | None], function: str = FUNCTION
) -> None:
    """Move a layer's view and note what came of it; `unchanged` where the view already lay so."""
    part = outcome.views[layer].parts[0]
    try:
        moved = move(part.view)
    except Refused as refused:
        refuse(outcome, layer, refused.refusal, function)
        return
    except ViewError as error:
        refuse(outcome, layer, Refusal("RuntimeError", str(error)), function)
        return
    if moved is None:
        outcome.decisions[layer] = SKIPPED
    elif moved != part.view:
        step = ("as_strided", (moved.shape, moved.stride))
        new = part._replace(steps=(*part.steps, step), view=moved)
        outcome.views[layer] = outcome.views[layer]._replace(parts=(new,))
        outcome.decisions[layer] = RESTRIDED


def refuse(outcome: TensorOutcome, layer: str | None, refusal: Refusal, function: str = FUNCTION) -> None:
    """Note a refusal on an allocation; `layer` is None where it is about a layer without a view of its own."""
    if layer is not None:
        outcome.decisions[layer] = REFUSED
    outcome.refusal = outcome.refusal or refusal._replace(stage="align").within("align", function)
