"""State-space and linear-attention layers: one page holds the states of one request (`MambaSpec`)."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from kvinspect.document.words import DTYPE_BYTES
from kvinspect.provenance import vllm
from kvinspect.specs.spec import SpecOfLayers, blocks_of

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load, Rules, UnpaddedPage


class _Fields(NamedTuple):
    block_size: int
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]
    page_size_padded: int | None = None
    mamba_type: str = ""
    """The word for the backend of its layers; the release's own where a document says none."""
    mamba_cache_mode: str = "none"
    num_speculative_blocks: int = 0
    num_heads: int = 1
    tokens_per_state: int = -1
    block_stride_alignment: int | str | None = None
    marks: tuple[tuple[str, Any], ...] = ()
    kind: str = "mamba"


class MambaSpec(_Fields, SpecOfLayers):
    """The spec of a layer with states."""

    __slots__ = ()

    is_attention: ClassVar[Literal[False]] = False
    holds_states: ClassVar[Literal[True]] = True
    has_views: ClassVar[Literal[True]] = True
    each_its_own: ClassVar[Literal[False]] = False

    def states_of(self, tokens: int) -> int:
        """1: a block holds the state of one request, unless the spec says otherwise (0.29 on)."""
        return tokens // self.tokens_per_state if self.tokens_per_state > 0 else 1

    @property
    def storage_block_size(self) -> int:
        """The same as for every spec."""
        return self.block_size

    @property
    def content_bytes(self) -> int:
        """Bytes of all states together."""
        sizes = zip(self.shapes, self.dtypes, strict=False)
        return sum(prod(shape) * DTYPE_BYTES[dtype] for shape, dtype in sizes)

    @property
    def marks_by_name(self) -> Mapping[str, Any]:
        """Fields that move no byte and only tell specs apart."""
        return dict(self.marks)

    def padded(self, page: int) -> Self:
        """The spec with its page padded to a number of bytes."""
        return self._replace(page_size_padded=page)

    def unpadded_bytes(self, unpadded: UnpaddedPage) -> int:
        """Bytes of all states together."""
        return self.content_bytes

    def goes_with(self, other: Any, rules: Rules) -> bool:
        """States that are kept alike, by the release's rule."""
        return bool(other.holds_states) and bool(rules.state_slots(self, rules) == rules.state_slots(other, rules))

    def request_blocks(self, load: Load) -> int:
        """One state and those of drafts; one for each block of tokens, or one aside, where the cache mode says so."""
        if load.mamba_cache_mode == "all":
            return blocks_of(load.max_model_len, self.block_size) + self.num_speculative_blocks
        if load.mamba_cache_mode == "align":
            checkpoints: int = self.marks_by_name.get("num_prefill_checkpoint_blocks", 0)
            return 2 + self.num_speculative_blocks + checkpoints
        return 1 + self.num_speculative_blocks

    def grows(self, load: Load) -> bool:
        """Where a state is kept for every block of tokens."""
        return load.mamba_cache_mode == "all"

    def shards(self, load: Load) -> int:
        """A state is whole on every rank."""
        return 1


@vllm("MambaSpec.is_uniform_with_collection", until="0.28")
def by_speculation(spec: MambaSpec, rules: Rules) -> Any:
    """Up to 0.28 states are alike that keep the same number of speculative blocks, whatever their pages."""
    return spec.num_speculative_blocks


@vllm("MambaSpec.is_uniform_with_collection", since="0.29")
def by_page_and_marks(spec: MambaSpec, rules: Rules) -> Any:
    """From 0.29 on their pages, checkpoints and whether ranks share them have to be the same as well."""
    return spec.num_speculative_blocks, spec.page(rules.unpadded), spec.marks
