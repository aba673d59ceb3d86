"""What vLLM does in a release with a cache that is given: its facts, and the engine's steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kvinspect.document.model import MultimodalEntry, RequestEntry
from kvinspect.engine import blocks_first, placement, reshape
from kvinspect.engine.backends import Backend
from kvinspect.engine.cudagraph import capture
from kvinspect.engine.cudagraph.start_up import StartUpRule
from kvinspect.engine.mm_prefix.ranges import Span
from kvinspect.engine.storage import Storage
from kvinspect.releases.data import catalogue
from kvinspect.specs.kinds import LayerSpec


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
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
    encoder_groups_narrow: bool
    """Encoder layers outside the KV cache count when CUDA graph support is narrowed."""
    capture_limit: Callable[[str | None], int]
    """Tokens of the largest batch that is captured by default, by compute capability."""
    decode_sizes: capture.DecodeSizes
    """Sizes of decodes that are captured beside the others."""
    start_up: tuple[StartUpRule, ...]
    """What the configuration does to the requested CUDA graph mode, in order."""
    mm_spans: Callable[[RequestEntry, MultimodalEntry], Iterator[Span]]
    """The spans of a request's image and video tokens."""
    storage: Storage
    """From the layout to the judgement: allocations of their own, or one backing allocation."""
    captured: Callable[..., capture.Captured] = capture.captured
    """The graphs of a mode, at capture sizes and with the bounds of a batch."""
    encoder_only_last: bool = False
    """Encoder-only layers never reach the planner: the runner puts them into a last group without a cache."""
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
    def catalogue(self) -> Mapping[str, Any]:
        """What its backends and specs answer. Raises NotAsked where an installed vLLM cannot be asked."""
        return catalogue.read(self.key)
