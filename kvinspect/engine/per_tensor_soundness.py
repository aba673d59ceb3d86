"""The alignment of every allocation and whether it is sound; allocations alike are judged once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kvinspect.document.document import Tensor
from kvinspect.document.frozen import Frozen
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refusal, Refused
from kvinspect.engine import align, blocks_first
from kvinspect.engine.align_answer import TensorAnswer
from kvinspect.engine.conflict import Conflict, pattern, self_conflict
from kvinspect.engine.overlay import conflicts, views_of
from kvinspect.engine.per_tensor import reshaper
from kvinspect.engine.release import Given
from kvinspect.engine.reshape import LayerView
from kvinspect.engine.stages import Built, Soundness, Views
from kvinspect.engine.wording import alignment
from kvinspect.engine.wording.soundness import sentence


class Found(NamedTuple):
    """Whether an allocation can be judged, and its smallest counterexamples: of any layers, of a layer with itself."""

    known: bool
    conflict: Conflict | None = None
    of_itself: Conflict | None = None


def per_tensor(given: Given, built: Built, views: Views) -> Soundness:
    """Return allocations of their own, each judged by itself, aligned first (0.25 to 0.28)."""
    return _Soundness(given, built, views).soundness()


class _Soundness:
    def __init__(self, given: Given, built: Built, views: Views) -> None:
        self.given, self.built, self.made, self.views = given, built, views, views.of
        self.shaper = reshaper(given, built, views.page_aligned)
        self.group_of = {layer: group for group in built.attention.flat for layer in group.layer_names}
        self.packed = [tensor for tensor in built.tensors if self._is_packed(tensor)]
        self.aliases: dict[str, list[str]] = {}
        for alias, target in given.document.shared.items():
            self.aliases.setdefault(target, []).append(alias)
        self.after: dict[str, LayerView] = {}
        """Filled by the alignment of all allocations, before any is proved: packed ones lie on the same bytes."""
        self.of_packed: dict[tuple[int, int], Found] = {}

    def soundness(self) -> Soundness:
        """The allocations with what the layout step does to them, alike ones decided once."""
        kinds = self._kinds()
        outcomes, first = self._aligned([members[0] for members in kinds])
        decisions: dict[str, str] = {}
        for members, outcome in zip(kinds, outcomes, strict=True):
            for tensor in members:
                names = dict(zip(members[0].shared_by, tensor.shared_by, strict=True))
                self.after.update((names[layer], view) for layer, view in outcome.views.items())
                decisions.update((names[layer], said) for layer, said in outcome.decisions.items())
        pairs = zip(kinds, outcomes, strict=True)
        answers = tuple(tuple(_renamed(self._tensor(m[0], o), m)) for m, o in pairs)
        return Soundness(answers, Frozen(self.after), Frozen(decisions), first)

    def _kinds(self) -> list[list[Tensor]]:
        """Allocations together whose layers have the same views, groups and entries; a packed one is by itself."""
        kinds: dict[object, list[Tensor]] = {}
        for tensor in self.built.tensors:
            # Layers alike have one view among them, so that which one it is stands for what it is.
            layers = tuple((id(self.views.get(n)), *self._family(n)) for n in tensor.shared_by)
            packed = tensor.id if self._is_packed(tensor) else -1
            kinds.setdefault((tensor.size, packed, layers, self._page_aligned(tensor)), []).append(tensor)
        return list(kinds.values())

    def _family(self, layer: str) -> tuple[object, ...]:
        """Group and entry of a layer and of those that share its cache."""
        family = (layer, *self.aliases.get(layer, ()))
        return tuple((self._group_id(n), self._backend(n), self._path(n)) for n in family)

    def _group_id(self, layer: str) -> int:
        group = self.group_of.get(layer)
        return -1 if group is None else group.kv_cache_group_id

    def _backend(self, layer: str) -> str:
        return self.group_of[layer].backend.name if layer in self.group_of else ""

    def _is_packed(self, tensor: Tensor) -> bool:
        return tensor.block_stride > 0 or self.made.across_layers

    def _aligned(self, tensors: Sequence[Tensor]) -> tuple[list[align.TensorOutcome], Refusal | None]:
        """(what the layout step does to each allocation, its first refusal)."""
        step = self.given.release.model_step
        if self.made.across_layers:
            return [align.start(tensor, self.views) for tensor in tensors], None
        if step is not None:
            return step(self._whole_model(), tensors)
        outcomes = self._one_by_one(tensors)
        return outcomes, next((outcome.refusal for outcome in outcomes if outcome.refusal), None)

    def _whole_model(self) -> blocks_first.WholeModel:
        flat, shared, sizes = self.built.attention.flat, self.given.document.shared, self.built.kernel_blocks
        return blocks_first.WholeModel(flat, self.views, shared, self.shaper.block_dim, len(sizes))

    def _one_by_one(self, tensors: Sequence[Tensor]) -> list[align.TensorOutcome]:
        """The alignment; where the engine cannot even ask for the block dims, it refuses every allocation."""
        step = align.align_hybrid if self._is_hybrid() else align.align_mixed
        try:
            subject = self._subject()
        except Refused as refused:
            refusal = refused.refusal._replace(stage="align")
            return [align.TensorOutcome(self._on(tensor), {}, refusal) for tensor in tensors]
        return [step(tensor, subject) for tensor in tensors]

    def _on(self, tensor: Tensor) -> dict[str, LayerView]:
        return {layer: self.views[layer] for layer in tensor.shared_by if layer in self.views}

    def _subject(self) -> align.UnalignedViews:
        """Block dims as the engine asks for them at this step. Raises Refused where a backend's shape has none."""
        layers = [layer for layer in self.views if self.group_of[layer].spec.is_attention]
        dims: dict[str, int] = {}
        for layer in layers:
            dim = self.views[layer].block_dim
            dims[layer] = self.shaper.block_dim(self.group_of[layer]) if dim is None else dim
        return align.UnalignedViews(self.views, dims, self.made.page_aligned)

    def _is_hybrid(self) -> bool:
        kinds = {self.group_of[layer].spec.is_attention for layer in self.views}
        return self.given.release.hybrid_step and kinds == {True, False}

    def _tensor(self, tensor: Tensor, outcome: align.TensorOutcome) -> TensorAnswer:
        attention = [
            layer for layer in tensor.shared_by if layer in self.views and self.group_of[layer].spec.is_attention
        ]
        dims = tuple(sorted({dim for layer in attention if (dim := self.views[layer].block_dim) is not None}))
        decision = self._decision(tensor, outcome, attention, dims)
        before, after = self._found(tensor, self.views), self._found(tensor, self.after)
        provable = after.known and decision != "refused"
        users = {layer: self.group_of[layer].backend.name for layer in tensor.shared_by if layer in self.views}
        found = TensorAnswer(
            id=tensor.id,
            size=tensor.size,
            shared_by=tensor.shared_by,
            block_dims=dims,
            decision=decision,
            why=alignment.tensor(tensor, decision, users, outcome, self.views, self._page_aligned(tensor)),
            sound_before=before.conflict is None if before.known else None,
            conflict_before=before.conflict,
            sound=after.conflict is None if provable else None,
            conflict=after.conflict if provable else None,
            self_conflict=after.of_itself if provable else None,
            refusal=outcome.refusal if decision == "refused" else None,
            offset=tensor.offset,
            block_stride=tensor.block_stride,
            num_blocks=self._held(tensor),
            where=self._where(outcome, after.conflict),
        )
        return found._replace(meaning=sentence(found))

    def _held(self, tensor: Tensor) -> int | None:
        """The blocks of the manager that the smallest view on a tensor holds."""
        views = self._on(tensor).values()
        held = [v.parts[0].view.shape[v.block_dim] // v.kernel_blocks for v in views if v.block_dim is not None]
        return min(held) if held and len(held) == len(views) else None

    def _where(self, outcome: align.TensorOutcome, found: Conflict | None) -> tuple[str, ...]:
        """The entries that give the layers of a refusal or a conflict their backends."""
        refused = [layer for layer, said in outcome.decisions.items() if said == align.REFUSED]
        paths = dict.fromkeys(self._path(layer) for layer in (*refused, *(found.layers if found else ())))
        return tuple(self.given.document.where(path) for path in paths)

    def _path(self, layer: str) -> Path:
        use = self.given.document.uses.get(layer)
        if use or layer not in self.group_of:
            return use.path if use else ()
        return self.built.attention.groups[self.group_of[layer].kv_cache_group_id].path

    def _decision(
        self, tensor: Tensor, outcome: align.TensorOutcome, attention: Sequence[str], dims: tuple[int, ...]
    ) -> str:
        said = set(outcome.decisions.values())
        if self._is_packed(tensor):
            return "packed"
        if outcome.refusal is not None:
            return "refused"
        for word in ("skipped", "restrided"):
            if word in said:
                return word
        if len(attention) < 2:
            return "unshared"
        if len(dims) == 1:
            return "agree"
        return "page_aligned" if self._page_aligned(tensor) else "untouched"

    def _page_aligned(self, tensor: Tensor) -> bool:
        return not self.made.page_aligned.isdisjoint(tensor.shared_by)

    def _found(self, tensor: Tensor, views: Mapping[str, LayerView]) -> Found:
        """What is found on the tensor's bytes, on which the layers of all packed tensors lie together."""
        if not self._is_packed(tensor):
            return self._prove([tensor], views)[tensor.id]
        key = (id(views), tensor.id)
        if key not in self.of_packed:
            self.of_packed |= {(id(views), one): found for one, found in self._prove(self.packed, views).items()}
        return self.of_packed[key]

    def _prove(self, tensors: Sequence[Tensor], views: Mapping[str, LayerView]) -> dict[int, Found]:
        """Tensor → what is found among the layers of all of them."""
        on = {tensor.id: list(self._on(tensor)) for tensor in tensors}
        tensor_of = {layer: tensor for tensor, layers in on.items() for layer in layers}
        if any(views[layer].block_dim is None for layer in tensor_of):
            return {tensor: Found(False) for tensor in on}
        patterns = {layer: pattern(views[layer], self.given.num_blocks) for layer in tensor_of}
        met = conflicts(views_of(patterns, tensor_of))
        return {
            tensor: Found(True, met[tensor], self_conflict(patterns, layers)) if tensor in met else Found(True)
            for tensor, layers in on.items()
        }


def _renamed(answer: TensorAnswer, members: Iterable[Tensor]) -> Iterable[TensorAnswer]:
    """The answer for one allocation as that for each that is like it."""
    for tensor in members:
        if tensor.id == answer.id:
            yield answer
            continue
        names = dict(zip(answer.shared_by, tensor.shared_by, strict=True))
        yield answer._replace(
            id=tensor.id,
            shared_by=tensor.shared_by,
            conflict=_with_names(answer.conflict, names),
            conflict_before=_with_names(answer.conflict_before, names),
            self_conflict=_with_names(answer.self_conflict, names),
        )


def _with_names(found: Conflict | None, names: Mapping[str, str]) -> Conflict | None:
    return found and found._replace(layers=(names[found.layers[0]], names[found.layers[1]]))
