"""KV112: the engine refuses before it makes a view, for a reason that no other rule names."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import place_of
from kvinspect.linting.subjects.document import DocumentSubject

NAMED = ("memory", "padded-page", "partial-page", "no-common-block-size", "pages-differ", "sharing-into-uniform")
"""The kinds of refusal that have a rule of their own."""


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Any other refusal."""
    refusal = subject.refusal
    if refusal and refusal.kind not in NAMED:
        text = f"vLLM stops at start-up ({refusal.stage}) with {refusal.type}: {refusal.text}"
        yield Found(place_of(subject, refusal), text)


RULE = Rule("KV112", "start-up-refused", ERROR, "the engine refuses the cache before it makes a view", check)
