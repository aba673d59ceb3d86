"""The document of the cache that a plan makes."""

from __future__ import annotations

from kvinspect.document.document import Document
from kvinspect.document.load import load
from kvinspect.planning.inspection import inspection_document, of_workers
from kvinspect.planning.plan_answer import PlanAnswer, Written


def cache_of(plan: PlanAnswer) -> Document:
    """The first worker's cache, called as what was planned. The engine must not refuse the plan."""
    # Written here, so that the planner is handed a document and asks no model for it.
    written = plan._replace(written=Written(plan.written.value))
    return load(inspection_document(written), plan.setting.source)


def caches_of(plan: PlanAnswer) -> tuple[Document, ...]:
    """The caches of the workers that are not alike. The engine must not refuse the plan."""
    return tuple(cache_of(one) for one in of_workers(plan))
