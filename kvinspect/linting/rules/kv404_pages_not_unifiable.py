"""KV404: the groups' pages can not be made one size."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import GROUPS, refused
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """The engine's refusal to place groups of pages that differ."""
    refusal = refused(subject, "pages-differ")
    if refusal:
        yield Found(
            GROUPS, f"{refusal.text}; change a block size so that the pages have the same size, or pad the smaller page"
        )


RULE = Rule("KV404", "pages-not-unifiable", ERROR, "the groups' page sizes cannot be unified", check)
