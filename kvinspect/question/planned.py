"""The cache that a plan makes, as a document: of a planning document with its words, of a model as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kvinspect.document.document import GROUPS, Document, Group, LayerUse
from kvinspect.document.model import AttentionGroupEntry, DocumentModel, GroupEntry, KVCacheConfigEntry, SpecEntry
from kvinspect.document.source import Source
from kvinspect.planning.plan_answer import PlanAnswer, PlannedGroup


def cache_of_document(plan: PlanAnswer) -> Document:
    """The first worker's cache, called as the planning document, with what else that says.

    The engine must not refuse the plan. Raises DocumentError for what a planning document need not say.
    """
    from kvinspect.document.load import load
    from kvinspect.planning.inspection import inspection_document

    return load(inspection_document(plan), plan.setting.source)


def cache_of_model(plan: PlanAnswer, said: DocumentModel) -> Document:
    """The first worker's cache as the document of a plan holds it; `said` is what the model says beside its layers.

    Nothing is written and read again: its entries are made of the plan's own values. The engine must not refuse.
    """
    groups = tuple(_group(group, plan) for group in plan.groups)
    own = {layer for group in groups for layer in group.layer_names}
    shared = {alias: target for alias, target in said.shared_kv_cache_layers.items() if target in own}
    entries = [_group_entry(group, planned) for group, planned in zip(groups, plan.groups, strict=True)]
    attention, uses = _backends(plan)
    model = replace(
        said,
        engine=plan.setting.release,
        model_config=replace(said.model_config, max_model_len=plan.deployment.max_model_len),
        kv_cache_config=KVCacheConfigEntry(num_blocks=plan.num_blocks or 0, kv_cache_groups=entries),
        attention_groups=attention,
        shared_kv_cache_layers=shared,
    )
    return Document(Source(plan.setting.source, {}), model, groups, None, shared, uses)


def _group(group: PlannedGroup, plan: PlanAnswer) -> Group:
    spec = _spec(group.written(plan.release))
    own = spec.kv_cache_specs or {}
    return Group(group.id, group.layer_names, spec, own, frozenset(one.spec_kind for one in (spec, *own.values())))


def _spec(fields: Mapping[str, Any]) -> SpecEntry:
    """The entry of a spec, with those of its layers where each has its own."""
    own = fields.get("kv_cache_specs")
    if own is None:
        return SpecEntry(**fields)
    return SpecEntry(**{**fields, "kv_cache_specs": {layer: _spec(one) for layer, one in own.items()}})


def _group_entry(group: Group, planned: PlannedGroup) -> GroupEntry:
    backend = planned.backends[0] if len(planned.backends) == 1 else None
    return GroupEntry(layer_names=list(group.layer_names), kv_cache_spec=group.spec, backend=backend)


def _backends(plan: PlanAnswer) -> tuple[list[AttentionGroupEntry] | None, dict[str, LayerUse]]:
    """The attention groups where a group has layers of several backends, and which entry says each layer's."""
    assert plan.inputs is not None
    found: list[AttentionGroupEntry] = []
    uses: dict[str, LayerUse] = {}
    several = any(len(group.backends) > 1 for group in plan.groups)
    for group in plan.groups:
        for backend, layers in group.by_backend(plan.inputs.backends).items():
            path = ("attention_groups", len(found), "backend") if several else (*GROUPS, group.id, "backend")
            uses.update(dict.fromkeys(layers, LayerUse(backend, path)))
            found.append(AttentionGroupEntry(backend=backend, layer_names=layers, kv_cache_group_id=group.id))
    return found if several else None, uses
