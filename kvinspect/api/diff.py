"""`kvinspect.diff`."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.api.asking import Origin, ask, load, placed
from kvinspect.compare.answer import DiffAnswer
from kvinspect.compare.run import compare
from kvinspect.compare.side import Side, side_of
from kvinspect.document.checked import checked
from kvinspect.document.document import Document
from kvinspect.planning.answer import PlanAnswer
from kvinspect.planning.inspection import inspection_document
from kvinspect.planning.run import plan_document


@checked
def diff(document: Origin, other: Origin | None = None, *, engines: Sequence[str] = ()) -> DiffAnswer:
    """What changed between two KV caches, and whether blocks that one has written can be read by the other.

    Of two documents with no engine each keeps its own release; one engine holds for both, two for one each. Of one
    document two engines are compared, or one with the document's own. Planning documents are planned first. Positions
    are bytes, shapes and strides elements.

    Raises DocumentError where a document cannot be used, or names a release or backend that nobody knows; ValueError
    where there is nothing to compare, or more than two engines.
    """
    if len(engines) > 2:
        raise ValueError(f"two releases are compared, not {len(engines)}")
    if other is None and not engines:
        raise ValueError("one document is compared with itself: give another document, or a release")
    first = load(document)
    second = first if other is None else load(other)
    asked: tuple[str | None, ...] = tuple(engines) or (None,)
    a = _side(first, None if other is None and len(asked) == 1 else asked[0])
    b = _side(second, asked[-1])
    with placed(first):
        return compare(a, b)


def _side(document: Document, engine: str | None) -> Side:
    """A document with its answers; of a planning document those about the cache that its plan makes."""
    if document.model.kv_cache_config is not None or document.model.kv_cache_specs is None:
        return _aligned(document, engine)
    asked = ask(document, "kv_cache_specs", "diff", engine)
    document.require("available_memory", "diff")
    with placed(document):
        plan = plan_document(document, asked.release, asked.setting)
    if not plan.starts or not plan.groups:
        return Side(asked.setting, plan=plan)
    return _aligned(load(inspection_document(plan), document.source.name), engine, plan)


def _aligned(document: Document, engine: str | None, plan: PlanAnswer | None = None) -> Side:
    asked = ask(document, "kv_cache_config", "diff", engine)
    with placed(document):
        return side_of(document, asked.release, asked.setting, plan)
