"""`align` from a document to its answer: the views, the alignment of every allocation, and whether that is sound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvinspect.document.document import GROUPS, Document, Tensor
from kvinspect.document.problem import Path
from kvinspect.engine import align, explain, why
from kvinspect.engine.answer import AlignAnswer, LayerAnswer, Setting, TensorAnswer
from kvinspect.engine.cache import Cache, build_groups, build_views
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.refusal import Refused, stage
from kvinspect.engine.releases import Release
from kvinspect.engine.reshape import LayerView, Place, places
from kvinspect.engine.soundness import Conflict, conflict, self_conflict
from kvinspect.engine.specs import AttentionSpec, reported_kind


def align_document(document: Document, release: Release, setting: Setting) -> AlignAnswer:
    """What the engine does with a document's KV cache. Raises Unknown for a name that nobody knows."""
    cache = Cache.of(document, release, setting.num_blocks)
    try:
        build_groups(cache)
        setting = setting._replace(kv_cache_layout=cache.layout)
        build_views(cache)
        with stage("reshape"):
            return _Judge(cache).answer(setting)
    except Refused as refused:
        refused.where = document.where(refused.path) if refused.path else ""
        return AlignAnswer(setting, refusal=refused)


class _Judge:
    """Runs the alignment over the allocations of a cache and words the answer."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache
        self.group_of = {layer: group for group in cache.flat for layer in group.layer_names}

    def answer(self, setting: Setting) -> AlignAnswer:
        """The answer; where the engine cannot even ask for the block dims, it refuses every allocation."""
        cache = self.cache
        try:
            outcomes = self._aligned(self._subject())
        except Refused as refused:
            refused.stage = "align"
            outcomes = [align.TensorOutcome(self._on(tensor), {}, refused) for tensor in cache.tensors]
        self.after = {layer: view for outcome in outcomes for layer, view in outcome.views.items()}
        self.decisions = {layer: said for outcome in outcomes for layer, said in outcome.decisions.items()}
        self.packed = [layer for t in cache.tensors if t.block_stride > 0 for layer in self._on(t)]
        tensors = tuple(self._tensor(tensor, outcome) for tensor, outcome in zip(cache.tensors, outcomes, strict=True))
        first = next((outcome.refusal for outcome in outcomes if outcome.refusal), None)
        why_each_step = explain.reasons(cache)
        return AlignAnswer(setting, self._layers(), tensors, cache.kernel_block_sizes, first, why_each_step)

    def _aligned(self, subject: align.Subject) -> list[align.TensorOutcome]:
        step = align.align_hybrid if self._is_hybrid() else align.align_mixed
        return [step(tensor, subject) for tensor in self.cache.tensors]

    def _on(self, tensor: Tensor) -> dict[str, LayerView]:
        return {layer: self.cache.views[layer] for layer in tensor.shared_by if layer in self.cache.views}

    def _subject(self) -> align.Subject:
        """Block dims as the engine asks for them at this step. Raises Refused where a backend's shape has none."""
        layers = [layer for layer in self.cache.views if isinstance(self.group_of[layer].spec, AttentionSpec)]
        dims: dict[str, int] = {}
        for layer in layers:
            dim = self.cache.views[layer].block_dim
            dims[layer] = self.cache.shaper.block_dim(self.group_of[layer]) if dim is None else dim
        return align.Subject(self.cache.views, dims, self.cache.shaper.page_aligned)

    def _is_hybrid(self) -> bool:
        kinds = {isinstance(self.group_of[layer].spec, AttentionSpec) for layer in self.cache.views}
        return self.cache.release.hybrid_step and kinds == {True, False}

    def _layers(self) -> tuple[LayerAnswer, ...]:
        where = places(self.cache.tensors)
        return tuple(
            self._layer(group, layer, where)
            for group in self.cache.groups
            for layer in (*group.layer_names, *group.sharing)
        )

    def _layer(self, group: KVCacheGroup, layer: str, where: Mapping[str, Place]) -> LayerAnswer:
        spec = group.spec_of(layer)
        target = self.cache.document.shared.get(layer, layer)
        view = self.after.get(target)
        decision = "alias" if layer != target else self.decisions.get(layer, "unchanged")
        return LayerAnswer(
            layer_name=layer,
            kv_cache_group_id=group.id,
            backend=self.cache.layer_backends.of(layer)[0].name,
            spec_kind=reported_kind(spec),
            page_size_bytes=self.cache.page_size_bytes(spec),
            tensor_index=where[target].tensor.id if target in where else None,
            decision="no_view" if view is None else decision,
            view=view,
            before=self.cache.views.get(target),
            allocation=where[target].allocation if target in where else None,
        )

    def _tensor(self, tensor: Tensor, outcome: align.TensorOutcome) -> TensorAnswer:
        attention = [
            layer
            for layer in tensor.shared_by
            if layer in self.cache.views and isinstance(self.group_of[layer].spec, AttentionSpec)
        ]
        dims = tuple(sorted({dim for layer in attention if (dim := self.cache.views[layer].block_dim) is not None}))
        decision = self._decision(tensor, outcome, attention, dims)
        before_known, before = self._conflict(tensor, self.cache.views)
        known, after = self._conflict(tensor, self.after)
        judged = known and decision != "refused"
        users = {layer: self.group_of[layer].backend.name for layer in tensor.shared_by if layer in self.cache.views}
        return TensorAnswer(
            id=tensor.id,
            size=tensor.size,
            shared_by=tensor.shared_by,
            block_dims=dims,
            decision=decision,
            why=why.tensor(tensor, decision, users, outcome, self.cache.views, self._page_aligned(tensor)),
            sound_before=before is None if before_known else None,
            conflict_before=before,
            sound=after is None if judged else None,
            conflict=after if judged else None,
            self_conflict=self_conflict(self.after, list(self._on(tensor)), self.cache.num_blocks) if judged else None,
            refusal=outcome.refusal if decision == "refused" else None,
            offset=tensor.offset,
            block_stride=tensor.block_stride,
            num_blocks=self._held(tensor),
            where=self._where(outcome, after),
        )

    def _held(self, tensor: Tensor) -> int | None:
        """The blocks of the manager that the smallest view on a tensor holds."""
        views = self._on(tensor).values()
        held = [v.parts[0].view.shape[v.block_dim] // v.kernel_blocks for v in views if v.block_dim is not None]
        return min(held) if held and len(held) == len(views) else None

    def _where(self, outcome: align.TensorOutcome, found: Conflict | None) -> tuple[str, ...]:
        """The entries that give the layers of a refusal or a conflict their backends."""
        refused = [layer for layer, said in outcome.decisions.items() if said == align.REFUSED]
        paths = dict.fromkeys(self._path(layer) for layer in (*refused, *(found.layers if found else ())))
        return tuple(self.cache.document.where(path) for path in paths)

    def _path(self, layer: str) -> Path:
        use = self.cache.document.uses.get(layer)
        return use.path if use else (*GROUPS, self.group_of[layer].kv_cache_group_id)

    def _decision(
        self, tensor: Tensor, outcome: align.TensorOutcome, attention: Sequence[str], dims: tuple[int, ...]
    ) -> str:
        said = set(outcome.decisions.values())
        if tensor.block_stride > 0:
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
        return not self.cache.shaper.page_aligned.isdisjoint(tensor.shared_by)

    def _conflict(self, tensor: Tensor, views: Mapping[str, LayerView]) -> tuple[bool, Conflict | None]:
        """(whether it can be judged, the smallest counterexample on the tensor's bytes)."""
        mine = list(self._on(tensor))
        on_it = self.packed if tensor.block_stride > 0 else mine
        if any(views[layer].block_dim is None for layer in on_it):
            return False, None
        return True, conflict(views, on_it, self.cache.num_blocks, mine)
