"""The layout step of model runner V1: one for the whole model, every K/V-first view onto blocks-first storage.

Follows `GPUModelRunner._has_mixed_attention_kv_layout` and `_update_hybrid_attention_mamba_layout` (0.25 to 0.28). It
is due in a model with state-space layers, or with two block dims among its attention groups, and then moves also views
that share with nobody. The engine stops at the first refusal; here every allocation is judged by itself as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import NamedTuple

from kvinspect.document.document import Tensor
from kvinspect.document.refusal import Refusal, Refused
from kvinspect.engine.align import TensorOutcome, attempt, refuse, start
from kvinspect.engine.groups import AttentionGroup
from kvinspect.engine.reshape import LayerView
from kvinspect.geometry import StridedView, ViewError
from kvinspect.provenance import vllm

MIXED = "_has_mixed_attention_kv_layout"
UPDATE = "_update_hybrid_attention_mamba_layout"
DEED = "model runner V1 moves every K/V-first view of the model onto blocks-first storage"


class WholeModel(NamedTuple):
    """What the step looks at."""

    groups: Sequence[AttentionGroup]
    """In the engine's order, KV-sharing layers among their targets'."""
    views: Mapping[str, LayerView]
    shared: Mapping[str, str]
    block_dim: Callable[[AttentionGroup], int]
    """Raises Refused where a backend's shape has no block dim."""
    num_sized: int
    """Groups with a kernel block size, counted from the first."""


ModelStep = Callable[[WholeModel, Sequence[Tensor]], tuple[list[TensorOutcome], Refusal | None]]


@vllm("GPUModelRunner._update_hybrid_attention_mamba_layout", until="0.28")
def everywhere(model: WholeModel, tensors: Sequence[Tensor]) -> tuple[list[TensorOutcome], Refusal | None]:
    """(what the step does to each allocation, the first refusal of the model's, which may belong to none of them)."""
    step = _Step(model)
    return [step.tensor(tensor) for tensor in tensors], step.refusal


class _Step:
    def __init__(self, model: WholeModel) -> None:
        self.model = model
        self.attention = [group for group in model.groups if group.spec.is_attention]
        self.group_of = {layer: group for group in self.attention for layer in group.layer_names}
        self.order = {layer: i for i, layer in enumerate(model.views)}
        self.dims: dict[int, int] = {}
        self.refusal: Refusal | None = None
        self.function = self._due()
        self.refusal = self.refusal or next(self._refusals(), None)

    def _due(self) -> str:
        """The last function of the step that runs: "" where it is not reached, the question alone where it is none."""
        with_attention = any(layer in self.group_of for layer in self.model.views)
        if not with_attention:
            return ""
        if any(layer not in self.group_of for layer in self.model.views):
            return UPDATE
        try:
            dims = {self._dim(group) for group in self.attention if self._sized(group)}
        except Refused as refused:
            self.refusal = _at(refused.refusal, MIXED)
            return MIXED
        return UPDATE if len(dims) > 1 else ""

    def _dim(self, group: AttentionGroup) -> int:
        if id(group) not in self.dims:
            self.dims[id(group)] = self.model.block_dim(group)
        return self.dims[id(group)]

    def _sized(self, group: AttentionGroup) -> bool:
        return group.kv_cache_group_id < self.model.num_sized

    def _refusals(self) -> Iterator[Refusal]:
        """What the step trips over, in the engine's order."""
        for group in self.attention if self.function == UPDATE else ():
            for layer in group.layer_names:
                try:
                    if self._moves(group, layer):
                        onto_blocks_first(self.model.views[layer].parts[0].view)
                except Refused as refused:
                    yield _at(refused.refusal, UPDATE)
                except ViewError as error:
                    yield _at(Refusal("RuntimeError", str(error)), UPDATE)

    def _moves(self, group: AttentionGroup, layer: str) -> bool:
        """Whether the step moves the layer's view. Raises Refused where it stops instead."""
        if not self._sized(group):
            if self.function == MIXED:
                return False
            text = f"{layer} is in a group without a kernel block size, which this step requires"
            raise Refused("IndexError", text, path=("kv_cache_config", "kv_cache_groups"))
        dim = self._dim(group)
        if dim == 0 or self.function == MIXED:
            return False
        if dim != 1:
            raise Refused("AssertionError", f"the blocks have to be in dim 0 or 1, and {layer} has them in dim {dim}")
        if layer not in self.model.views:
            text = f"{layer} gets its view from another layer after the step, which looks for it now"
            raise Refused("KeyError", text, path=("shared_kv_cache_layers", layer))
        return True

    def tensor(self, tensor: Tensor) -> TensorOutcome:
        """The step on the layers of one allocation, and on those that share their views."""
        outcome = start(tensor, self.model.views)
        on_it = sorted((layer for layer in tensor.shared_by if layer in self.order), key=self.order.__getitem__)
        aliases = [alias for alias, target in self.model.shared.items() if target in tensor.shared_by]
        for layer in (*on_it, *aliases) if self.function else ():
            self._layer(outcome, layer)
        return outcome

    def _layer(self, outcome: TensorOutcome, layer: str) -> None:
        group = self.group_of.get(layer)
        try:
            if group is not None and self._moves(group, layer):
                attempt(outcome, layer, onto_blocks_first, UPDATE)
                outcome.deed = DEED
        except Refused as refused:
            refuse(outcome, layer if layer in self.model.views else None, _at(refused.refusal, self.function))


def onto_blocks_first(view: StridedView) -> StridedView:
    """A view with K and V of each block side by side, whatever its other strides. Raises ViewError past the storage."""
    block = prod(view.shape[2:])
    return view.as_strided(view.shape, (block, 2 * block, *view.stride[2:]))


def _at(refusal: Refusal, function: str) -> Refusal:
    return refusal._replace(stage="align").within("align", function)
