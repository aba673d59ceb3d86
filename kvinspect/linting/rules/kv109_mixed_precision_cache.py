"""KV109: blocks move between groups of different precision."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import NOTE, Found, Rule
from kvinspect.linting.rules._shared import GROUPS
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The first group whose dtype and quantisation differ from those of the groups before it."""
    first: tuple[str, str] | None = None
    for group in subject.attention:
        precision = group.spec.precision
        if precision is None:
            continue
        if first is not None and precision != first:
            text = f"{_words(precision)} and {_words(first)}: blocks move between groups, so the engine zeroes them"
            yield Found((*GROUPS, group.kv_cache_group_id), text, group.layer_names)
            return
        first = precision


def _words(precision: tuple[str, str]) -> str:
    dtype, mode = precision
    return dtype if mode == "NONE" else f"{dtype} ({mode})"


RULE = Rule("KV109", "mixed-precision-cache", NOTE, "groups store their cache at different precisions", check)
