"""Whether a layer's backend takes the layer, as the backend's own class answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from kvinspect.engine.groups import AttentionGroup
from kvinspect.engine.selection import Ask, Misfit, misfits_of
from kvinspect.engine.specs import AttentionSpec
from kvinspect.lint.rule import Found
from kvinspect.lint.subject import Subject

Sort = Literal["head size", "cache dtype", "attention", "platform"]


def misfits(subject: Subject, sort: Sort) -> Iterator[Found]:
    """The attention groups whose backend does not take them for a reason of a sort."""
    for group, misfit in _all(subject):
        if misfit.sort == sort:
            path = subject.entry(group.layer_names[0])
            yield Found(path, f"{group.backend.name} does not take {misfit.text}; {misfit.remedy}", group.layer_names)


def _all(subject: Subject) -> Iterator[tuple[AttentionGroup, Misfit]]:
    cache = subject.half_built if subject.has_cache else None
    for members in cache.attention if cache else ():
        for group in members:
            entry = subject.release.catalogue["backends"].get(group.backend.name)
            if entry is None or not isinstance(group.spec, AttentionSpec):
                continue
            model = subject.document.model
            connected = model.kv_transfer_config.kv_connector is not None
            sparse = bool(entry.get("is_sparse"))
            ask = Ask.of(group.spec, model.cache_dtype, use_sparse=sparse, use_kv_connector=connected)
            facts = subject.half_built.situation.facts()
            yield from ((group, misfit) for misfit in misfits_of(group.backend.name, entry, ask, facts))
