"""`kvinspect.diff`."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.api.ask import Origin, ask
from kvinspect.compare.diff import compare
from kvinspect.compare.diff_answer import DiffAnswer
from kvinspect.document.checked import checked
from kvinspect.document.document import Document
from kvinspect.question.documents import load
from kvinspect.question.question import Question, placed


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
    a = _question(first, None if other is None and len(asked) == 1 else asked[0])
    b = _question(second, asked[-1])
    with placed(first):
        return compare(a, b)


def _question(document: Document, engine: str | None) -> Question:
    """The question of a document that has a cache or is planned to have one."""
    if document.model.kv_cache_config is not None or document.model.kv_cache_specs is None:
        return ask(document, "kv_cache_config", "diff", engine)
    asked = ask(document, "kv_cache_specs", "diff", engine)
    document.require("available_memory", "diff")
    return asked
