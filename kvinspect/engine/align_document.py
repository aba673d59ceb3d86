"""`align` from a document to its answer: the views, the alignment of every allocation, and whether that is sound."""

from __future__ import annotations

from kvinspect.document.document import Document
from kvinspect.document.refusal import Refused
from kvinspect.engine.align import UNCHANGED
from kvinspect.engine.align_answer import AlignAnswer, AnswerHeader, LayerAnswer
from kvinspect.engine.chain import Stages
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.reason import Reason
from kvinspect.engine.release import EngineRelease
from kvinspect.engine.stages import Built, Soundness
from kvinspect.engine.start_up_steps import stage
from kvinspect.engine.wording import steps
from kvinspect.engine.wording.sources import rules_taken


def align_document(document: Document, release: EngineRelease, setting: AnswerHeader) -> AlignAnswer:
    """What the engine does with a document's KV cache. Raises Unknown for an unknown name."""
    return align_stages(Stages(document, release, setting.num_blocks), setting)


def align_stages(cache: Stages, setting: AnswerHeader) -> AlignAnswer:
    """What the engine does with a cache of which stages may have been made. Raises Unknown as `align_document`."""
    try:
        built = cache.built
        setting = setting._replace(kv_cache_layout=built.layout.name)
        return _answer(cache, built, cache.soundness, setting)
    except Refused as refused:
        refusal = refused.refusal.placed(cache.document.where)
        if refusal.stage != "allocate":
            return AlignAnswer(setting, refusal=refusal)
        return AlignAnswer(setting, (), (), cache.kernel_blocks, refusal, placed=cache.tensors)


def _answer(cache: Stages, built: Built, soundness: Soundness, setting: AnswerHeader) -> AlignAnswer:
    groups = built.attention.groups
    with stage("reshape"):
        layers = tuple(
            _layer(cache, soundness, group, layer) for group in groups for layer in (*group.layer_names, *group.sharing)
        )
    why = f"{setting.model_runner}: {setting.model_runner_why}"
    reasons = (Reason("model runner", why, "use_v2_model_runner"), *steps.reasons(cache.given, built))
    taken = rules_taken(cache.given, built, cache.views)
    return AlignAnswer(setting, layers, soundness.tensors, built.kernel_blocks, soundness.refusal, reasons, taken=taken)


def _layer(cache: Stages, soundness: Soundness, group: KVCacheGroup, layer: str) -> LayerAnswer:
    spec = group.spec_of(layer)
    target = cache.document.shared.get(layer, layer)
    view, place = soundness.views.get(target), cache.views.places.get(target)
    decision = "alias" if layer != target else soundness.decisions.get(layer, UNCHANGED)
    return LayerAnswer(
        layer_name=layer,
        kv_cache_group_id=group.id,
        backend=cache.grouped.backends[layer].backend.name,
        spec_kind=spec.reported_kind,
        page_size_bytes=cache.given.page_size_bytes(spec),
        tensor_index=place.tensor.id if place else None,
        decision="no_view" if view is None else decision,
        view=view,
        before=cache.views.of.get(target),
        allocation=place.allocation if place else None,
    )
