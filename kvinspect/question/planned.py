"""The document of the cache that a plan makes."""

from __future__ import annotations

from kvinspect.document.document import Document
from kvinspect.document.load import load
from kvinspect.planning.answer import PlanAnswer
from kvinspect.planning.inspection import inspection_document


def cache_of(plan: PlanAnswer, document: Document) -> Document:
    """The first worker's cache, called as the document that was planned. The engine must not refuse the plan."""
    return load(inspection_document(plan), document.source.name)
