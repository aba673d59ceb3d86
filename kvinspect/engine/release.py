"""What vLLM does in a release with a cache that is given: its facts, and the engine's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.backends.deployed import Deployed
from kvinspect.data import catalogue
from kvinspect.document.document import Document, Tensor
from kvinspect.document.frozen import Frozen
from kvinspect.engine import blocks_first, placement, reshape
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.layouts import Layout
from kvinspect.engine.placement import Space
from kvinspect.engine.reason import Reason
from kvinspect.engine.stages import Attention, Built, Groups, KernelBlocks, Soundness, Tensors, Views
from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.needs import UnpaddedPage


@dataclass(frozen=True, eq=False, slots=True, kw_only=True, init=False, repr=False)
class EngineRelease:
    """A vLLM release with one of its model runners, as the rules for a given cache see it: one object for each."""

    version: str
    """As vLLM numbers it: 0.33.0."""
    runner: str = "v2"
    """`v1` for `vllm/v1/worker/gpu_model_runner.py`, `v2` for `vllm/v1/worker/gpu`."""
    from_installed: bool = False
    """Whether the classes of the installed vLLM answer, in place of the shipped data."""
    aligned_spec: Callable[[LayerSpec], LayerSpec]
    customized_spec: Callable[[LayerSpec, Backend], LayerSpec]
    packed_placement: placement.PackedRule
    reshape: reshape.ReshapeRules
    hybrid_step: bool
    """Models with state-space layers have a layout step of their own in place of the alignment."""
    page_aligned_step: bool
    """K/V-first layers beside state-space layers are built page by page."""
    one_buffer: bool
    """Whether one backing allocation holds the whole cache, in a layout that planner and engine agree on (0.29 on)."""
    layout: Callable[[Sequence[Backend], Iterable[LayerSpec], str | None, EngineRelease], Layout]
    """The layout in force, by the backends, the specs and what is asked for. This stage and the next may refuse."""
    place: Callable[[Sequence[KVCacheGroup], Space], tuple[Tensor, ...]]
    """The allocations where nobody has written them down: the planner's placement, and the engine's with it."""
    bytes_per_block: Callable[[Sequence[KVCacheGroup], Space], int]
    """Bytes of one block of what `place` makes."""
    tensors: Callable[[Given, Groups, Layout], Tensors]
    kernel_blocks: Callable[[Attention, Tensors], KernelBlocks]
    """Where the document does not say."""
    views: Callable[[Given, Built], Views]
    soundness: Callable[[Given, Built, Views], Soundness]
    reasons: Callable[[Given, Built], tuple[Reason, ...]]
    encoder_only_last: bool = False
    """Encoder-only layers never reach the planner: the runner puts them into a last group without a cache."""
    catalogue: Mapping[str, Any] = field(default=Frozen(), repr=False)
    """What its backends and specs answer, as `releases/lookup.py` has read it."""
    model_step: blocks_first.ModelStep | None = None
    """The layout step where it is one for the whole model, in place of the alignment of each allocation."""

    @property
    def name(self) -> str:
        """Major and minor, as people say it."""
        return self.version.rsplit(".", 1)[0]

    @property
    def key(self) -> str:
        """The version, and `+installed` where the classes of the installed vLLM answer."""
        return self.version + (catalogue.INSTALLED if self.from_installed else "")

    @property
    def unpadded(self) -> UnpaddedPage:
        """Bytes of an attention layer's page without padding."""
        return self.reshape.unpadded_page

    def space(self, num_blocks: int, layout: Layout | None, across_layers: bool = False) -> Space:
        """What a placement goes by."""
        return Space(num_blocks, self.unpadded, self.packed_placement, layout, across_layers)


class Given(NamedTuple):
    """What every stage may look at beside the ones before it: what is asked about, and what answers for it."""

    document: Document
    release: EngineRelease
    num_blocks: int
    deployed: Deployed

    def page_size_bytes(self, spec: LayerSpec) -> int:
        """Bytes of a block of one layer."""
        return spec.page(self.release.unpadded)
