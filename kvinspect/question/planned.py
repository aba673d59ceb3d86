"""The document of the cache that a plan makes."""

from __future__ import annotations

from kvinspect.document.document import Document
from kvinspect.document.load import load
from kvinspect.planning.inspection import inspection_document, of_workers
from kvinspect.planning.plan_answer import PlanAnswer


def cache_of(plan: PlanAnswer) -> Document:
    """The first worker's cache, called as what was planned. The engine must not refuse the plan."""
    return load(inspection_document(plan), plan.setting.source)


def caches_of(plan: PlanAnswer) -> tuple[Document, ...]:
    """The caches of the workers that are not alike. The engine must not refuse the plan."""
    return tuple(cache_of(one) for one in of_workers(plan))
