"""A document's cache, stage by stage in the engine's order, each made once, on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from kvinspect.backends.deployed import Deployed
from kvinspect.document.document import Document
from kvinspect.document.refusal import Refusal, Refused
from kvinspect.engine import encoder_only
from kvinspect.engine.groups import AttentionGroup, KVCacheGroup, attention_groups
from kvinspect.engine.layout.layouts import Layout
from kvinspect.engine.release import EngineRelease, Given
from kvinspect.engine.spec_groups import grouped, specs
from kvinspect.engine.stages import Attention, Built, Groups, KernelBlocks, Soundness, Specs, Tensors, Views
from kvinspect.engine.start_up_steps import stage

T = TypeVar("T")


class _Kept(Generic[T]):
    """A stage of a chain: made once, and a refusal is kept as a value that a new carrier raises again."""

    def __init__(self, make: Callable[[Stages], T]) -> None:
        self.make, self.__doc__ = make, make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, chain: Stages, owner: type) -> T:
        refusal = chain.refusals.get(self.name)
        if refusal is not None:
            raise Refused.carrying(refusal)
        try:
            made = self.make(chain)
        except Refused as refused:
            chain.refusals[self.name] = refused.refusal
            raise
        chain.__dict__[self.name] = made  # found there from now on, before this descriptor
        return made


class Stages:
    """The stages of a document's cache under a release; each raises Refused where the engine comes no further."""

    def __init__(
        self,
        document: Document,
        release: EngineRelease,
        num_blocks: int | None = None,
        deployed: Deployed | None = None,
    ) -> None:
        blocks = document.num_blocks if num_blocks is None else num_blocks
        deployed = deployed or Deployed.of(document, release.catalogue)
        self.given = Given(document, release, blocks, deployed)
        self.document, self.release, self.num_blocks, (self.deployment, self.backends) = self.given
        self.refusals: dict[str, Refusal] = {}
        """Of the stages that have been asked for."""

    @_Kept
    def specs(self) -> Specs:
        """The specs as the release's classes make them."""
        with stage("spec"):
            return specs(self.given)

    @_Kept
    def grouped(self) -> Groups:
        """The groups with what backends pack, and the layers' backends."""
        with stage("customize_spec"):
            return grouped(self.given, self.specs)

    @_Kept
    def layout(self) -> Layout:
        """The layout in force."""
        made = self.grouped
        with stage("layout"):
            inner = [spec for group in made.groups for spec in group.spec.each]
            asked = self.document.model.kv_cache_layout
            return self.release.layout(list(made.in_use.values()), inner, asked, self.release)

    @_Kept
    def tensors(self) -> Tensors:
        """The allocations, the document's or the planner's."""
        layout = self.layout
        with stage("placement"):
            return self.release.tensors(self.given, self.grouped, layout)

    @_Kept
    def attention(self) -> Attention:
        """The groups as the runner has them, split by backend; the engine asks for them once all is placed."""
        made, _ = self.grouped, self.tensors
        with stage("init_attn_backend"):
            groups = encoder_only.last(made.groups) if self.release.encoder_only_last else made.groups
            return Attention(groups, tuple(attention_groups(group, made.backends) for group in groups))

    @_Kept
    def kernel_blocks(self) -> KernelBlocks:
        """The kernel block sizes, the document's or chosen."""
        attention, written = self.attention, self.document.model.kernel_block_sizes
        with stage("init_attn_backend"):
            return self.release.kernel_blocks(attention, self.tensors) if written is None else tuple(written)

    @property
    def built(self) -> Built:
        """Everything before the views."""
        sizes = self.kernel_blocks
        return Built(self.grouped, self.layout, self.tensors, self.attention, sizes)

    @_Kept
    def views(self) -> Views:
        """The view of every layer that gets one, before any alignment."""
        return self.release.views(self.given, self.built)

    @_Kept
    def soundness(self) -> Soundness:
        """The allocations, aligned where the release aligns, and proved."""
        views = self.views
        with stage("reshape"):
            return self.release.soundness(self.given, self.built, views)

    @property
    def groups(self) -> tuple[KVCacheGroup, ...]:
        """The groups as the runner has them."""
        return self.attention.groups

    @property
    def flat(self) -> list[AttentionGroup]:
        """All attention groups in the engine's order."""
        return self.attention.flat
