"""KV403: a page was padded to match another group's."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.document.numbers import counted
from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.rules._shared import GROUPS
from kvinspect.linting.subjects.document import DocumentSubject

FROM = 0.05
"""The share of a page from which on the padding is worth a word."""


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Padded pages, with the bytes that are lost and the tokens that the smallest request pins."""
    cache = subject.cache
    for group in cache.groups if cache else ():
        spec = group.first_spec
        padded = spec.page_size_padded
        if cache is None or padded is None or not group.layer_names:
            continue
        lost = padded - spec.unpadded_bytes(cache.release.reshape.unpadded_page)
        if lost / padded >= FROM:
            text = (
                f"a page of group {group.id} is padded from {padded - lost} to {counted(padded, 'byte')}, "
                f"which wastes {counted(lost, 'byte')} ({100 * lost / padded:.1f} %) of every block, "
                "and even the shortest request holds a block of "
                f"{counted(spec.block_size, 'token')}"
            )
            yield Found((*GROUPS, group.id, "kv_cache_spec"), text, group.layer_names)


RULE = Rule("KV403", "inflated-block-size", WARNING, "a page is padded to match a state-space page", check)
