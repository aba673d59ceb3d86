"""`align` from a document to its answer: the views, the alignment of every allocation, and whether that is sound."""

from __future__ import annotations

from kvinspect.document.document import Document
from kvinspect.engine import explain
from kvinspect.engine.answer import AlignAnswer, LayerAnswer, Setting
from kvinspect.engine.cache import Cache, build_groups, build_views
from kvinspect.engine.explain import Reason
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.judge import Judged, judge
from kvinspect.engine.refusal import Refused, stage
from kvinspect.engine.release import EngineRelease


def align_document(document: Document, release: EngineRelease, setting: Setting) -> AlignAnswer:
    """What the engine does with a document's KV cache. Raises Unknown for a name that nobody knows."""
    return align_cache(Cache.of(document, release, setting.num_blocks), setting)


def align_cache(cache: Cache, setting: Setting) -> AlignAnswer:
    """What the engine does with a cache, whose groups may have been built. Raises Unknown as `align_document`."""
    try:
        build_groups(cache)
        setting = setting._replace(kv_cache_layout=cache.layout)
        build_views(cache)
        with stage("reshape"):
            return _answer(cache, judge(cache), setting)
    except Refused as refused:
        refusal = refused.refusal.placed(cache.document.where)
        if refusal.stage != "allocate":
            return AlignAnswer(setting, refusal=refusal)
        return AlignAnswer(setting, (), (), cache.kernel_block_sizes, refusal, placed=cache.tensors)


def _answer(cache: Cache, judged: Judged, setting: Setting) -> AlignAnswer:
    layers = tuple(
        _layer(cache, judged, group, layer) for group in cache.groups for layer in (*group.layer_names, *group.sharing)
    )
    why = f"{setting.model_runner}: {setting.model_runner_why}"
    reasons = (Reason("model runner", why, "use_v2_model_runner"), *explain.reasons(cache))
    return AlignAnswer(setting, layers, judged.tensors, cache.kernel_block_sizes, judged.refusal, reasons)


def _layer(cache: Cache, judged: Judged, group: KVCacheGroup, layer: str) -> LayerAnswer:
    spec = group.spec_of(layer)
    target = cache.document.shared.get(layer, layer)
    view, place = judged.views.get(target), cache.places.get(target)
    decision = "alias" if layer != target else judged.decisions.get(layer, "unchanged")
    return LayerAnswer(
        layer_name=layer,
        kv_cache_group_id=group.id,
        backend=cache.layer_backends.of(layer)[0].name,
        spec_kind=spec.reported_kind,
        page_size_bytes=cache.page_size_bytes(spec),
        tensor_index=place.tensor.id if place else None,
        decision="no_view" if view is None else decision,
        view=view,
        before=cache.views.get(target),
        allocation=place.allocation if place else None,
    )
