"""KV402: groups have padding slots that hold no layer."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.document.numbers import counted
from kvinspect.engine.chain import Stages
from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.rules._shared import GROUPS
from kvinspect.linting.subjects.document import DocumentSubject

FROM = 0.05
"""The share of the cache from which on the loss is worth a word."""


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Groups with fewer layers than the largest, which leave their part of the other allocations empty."""
    cache = subject.cache
    if cache is None or len(cache.groups) < 2 or _packed(cache):
        return
    most = max(len(group.layer_names) for group in cache.groups)
    slots = most * len(cache.groups)
    for group in cache.groups:
        missing = most - len(group.layer_names)
        if group.layer_names and missing / slots >= FROM:
            page = cache.given.page_size_bytes(group.first_spec)
            layers, lost = counted(len(group.layer_names), "layer"), counted(missing * page, "byte")
            text = (
                f"group {group.id} has {layers}, the largest group {most}: {missing} of {counted(slots, 'page slot')} "
                f"are unused, {lost} of every block of group {group.id}"
            )
            yield Found((*GROUPS, group.id, "layer_names"), text, group.layer_names)


def _packed(cache: Stages) -> bool:
    """Whether pages of several sizes lie side by side, so that no layer counts as a page."""
    if all(tensor.layer_stride is None for tensor in cache.tensors):
        return any(tensor.block_stride for tensor in cache.tensors)
    return len({cache.given.page_size_bytes(g.spec_of(n)) for g in cache.groups for n in g.layer_names}) > 1


RULE = Rule("KV402", "padding-layers", WARNING, "groups have padding slots that hold no layer", check)
