"""KV503: bidirectional spans with a backend that can not attend them."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.backends.conditions import choose
from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import attends_both_ways
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Backends of a document with bidirectional spans whose class says that they have none."""
    if subject.cache is None or not attends_both_ways(subject):
        return
    facts = subject.cache.deployment.facts()
    for group in subject.attention:
        entry = subject.release.catalogue["backends"].get(group.backend.name, {})
        if group.spec.is_attention and choose(entry.get("supports_mm_prefix"), facts) is False:
            lacks = f"{group.backend.name} does not support bidirectional attention"
            text = f"{lacks}, and the requests have spans that need it"
            yield Found(subject.entry(group.layer_names[0]), text, group.layer_names)


RULE = Rule(
    "KV503", "no-mm-prefix-support", ERROR, "bidirectional spans with a backend that does not support them", check
)
