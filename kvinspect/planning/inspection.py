"""A plan as an inspection document, ready for `align`, `cg-support`, `lint` and `map`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvinspect.backends.backend import Backend
from kvinspect.document.fold import fold_names
from kvinspect.document.names import Expander
from kvinspect.planning.plan_answer import PlanAnswer, PlannedGroup

PLANNING_ONLY = ("kv_cache_specs", "available_memory", "worker_layers", "num_gpu_blocks_override")


def inspection_document(answer: PlanAnswer) -> dict[str, Any]:
    """The first worker's cache as a document; what else the planning document says is kept.

    Allocations are left out, since the document's release places them by the same rule. The engine must not refuse.
    """
    assert answer.inputs is not None
    rest = {key: value for key, value in answer.planning.items() if key not in PLANNING_ONLY}
    longest = {"max_model_len": answer.deployment.max_model_len}
    groups = answer.groups
    document = {
        **rest,
        "engine": answer.setting.release,
        "model_config": {**(rest.get("model_config") or {}), **longest},
        "kv_cache_config": {
            "num_blocks": answer.num_blocks,
            "kv_cache_groups": [_group(group, answer) for group in groups],
        },
    }
    if "shared_kv_cache_layers" in rest:
        own = {layer for group in groups for layer in group.layer_names}
        shared = {alias: target for alias, target in rest["shared_kv_cache_layers"].items() if target in own}
        document["shared_kv_cache_layers"] = shared
    if any(len(group.backends) > 1 for group in groups):
        document["attention_groups"] = [row for group in groups for row in _attention(group, answer.inputs.backends)]
    return document


def _group(group: PlannedGroup, answer: PlanAnswer) -> dict[str, Any]:
    backend = {"backend": group.backends[0]} if len(group.backends) == 1 else {}
    return {"layer_names": in_order(group.layer_names), "kv_cache_spec": group.written(answer.release), **backend}


def _attention(group: PlannedGroup, named: Mapping[str, Backend]) -> list[dict[str, Any]]:
    """The group's layers by backend."""
    return [
        {"backend": backend, "layer_names": in_order(layers), "kv_cache_group_id": group.id}
        for backend, layers in group.by_backend(named).items()
    ]


def in_order(names: Sequence[str]) -> list[str]:
    """Patterns that stand for the names in their order, else the names."""
    folded = fold_names(names)
    return folded if Expander().all(folded) == tuple(names) else list(names)
