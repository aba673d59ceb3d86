"""What document rules look at: a document, and what the engine makes of it, worked out when the first rule asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from kvinspect.backends.candidates import Ask, Misfit, misfits_of
from kvinspect.cudagraph.decide import Decision, decide
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refusal, Refused
from kvinspect.engine.align_answer import TensorAnswer
from kvinspect.engine.chain import Stages
from kvinspect.engine.groups import AttentionGroup
from kvinspect.engine.stages import Soundness
from kvinspect.question.question import Question
from kvinspect.releases.release import Release


@lru_cache(maxsize=4096)
def _misfits(release: Release, name: str, ask: Ask, facts: tuple[tuple[str, Any], ...]) -> tuple[Misfit, ...]:
    """What a backend does not take; a repository's documents ask the same again and again."""
    return tuple(misfits_of(release.catalogue["backends"][name], ask, dict(facts)))


class DocumentSubject:
    """A document under the rules of one release; a step at which the engine refuses leaves the later ones None."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.document, self.release = question.document, question.release
        self.raw: dict[str, Any] = self.document.source.value
        """The document as it was written."""

    @property
    def planner_refusal(self) -> Refusal | None:
        """Where the planner stops, before there is a cache."""
        return self.question.plan.refusal if self.question.can_be_planned else None

    @property
    def stages(self) -> Stages:
        """The stages of the document's cache; those behind a refusal raise it."""
        return self.question.cache

    @cached_property
    def _refused(self) -> Refusal | None:
        """Where the engine stops before the views."""
        return _stopped(lambda: self.stages.built)

    @property
    def has_cache(self) -> bool:
        """Whether the document describes a KV cache."""
        return self.question.has_cache

    @property
    def cache(self) -> Stages | None:
        """The cache as far as its groups, None where there is none or the engine refuses before."""
        return self.stages if self.has_cache and self._refused is None else None

    @cached_property
    def soundness(self) -> Soundness | None:
        """The allocations, aligned and proved, None where the engine refuses before."""
        return None if self._views_refused or self.cache is None else self.cache.soundness

    @cached_property
    def _views_refused(self) -> Refusal | None:
        cache = self.cache
        return _stopped(lambda: cache.soundness) if cache else None

    @property
    def refusal(self) -> Refusal | None:
        """Where the engine stops before the alignment."""
        if self.planner_refusal is not None:
            return self.planner_refusal
        return (self._refused or self._views_refused) if self.has_cache else None

    @cached_property
    def decision(self) -> Decision | None:
        """What becomes of the CUDA graph mode, None where the engine does not come as far."""
        if self.cache is None:
            return None
        try:
            return decide(self.cache, self.release.graphs)
        except Refused:
            return None

    @property
    def kinds(self) -> Sequence[Sequence[TensorAnswer]]:
        """The allocations, those alike together."""
        return self.soundness.kinds if self.soundness else ()

    @property
    def attention(self) -> list[AttentionGroup]:
        """All attention groups in the engine's order."""
        return self.cache.flat if self.cache else []

    @cached_property
    def split(self) -> Sequence[Sequence[AttentionGroup]]:
        """The attention groups of each group, also where they find no kernel block size in common."""
        if not self.has_cache or _stopped(lambda: self.stages.attention):
            return ()
        return self.stages.attention.members

    @cached_property
    def misfits(self) -> list[tuple[AttentionGroup, tuple[Misfit, ...]]]:
        """Attention groups with the properties of their layers that a backend of the release does not support."""
        found = []
        model, facts = self.document.model, self.stages.deployment.facts() if self.has_cache else {}
        connected = model.kv_transfer_config.kv_connector is not None
        for group in (group for members in self.split for group in members):
            entry = self.release.catalogue["backends"].get(group.backend.name)
            if entry is not None and not entry.get("is_ssm") and group.spec.is_attention:
                sparse = bool(entry.get("is_sparse"))
                ask = Ask.of(group.spec, model.cache_dtype, use_sparse=sparse, use_kv_connector=connected)
                found.append((group, _misfits(self.release, group.backend.name, ask, tuple(facts.items()))))
        return found

    def entry(self, layer: str) -> Path:
        """The entry that gives a layer its backend."""
        use = self.document.uses.get(layer)
        return use.path if use else self.group_path(layer)

    def group_path(self, layer: str) -> Path:
        """The KV cache group of a layer."""
        group = next((group for group in self.document.groups if layer in group.layer_names), None)
        return group.path if group else ()

    def by_entry(self, layers: Iterable[str]) -> dict[Path, list[str]]:
        """Layers by the entry that gives them their backend."""
        found: dict[Path, list[str]] = {}
        for layer in layers:
            found.setdefault(self.entry(layer), []).append(layer)
        return found


def _stopped(made: Callable[[], object]) -> Refusal | None:
    """Where the engine refuses what is asked for."""
    try:
        made()
    except Refused as refused:
        return refused.refusal
    return None
