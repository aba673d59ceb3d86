"""What a spec of any kind answers; the modules of the kinds say what is otherwise for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.specs.unlike import unlike

if TYPE_CHECKING:
    from fractions import Fraction

    from kvinspect.specs.needs import Load, MergeRules, Rules, UnpaddedPage


class Spec:
    """The spec of a group, of one kind or of layers that each have their own."""

    __slots__ = ()

    is_attention: ClassVar[bool] = False
    """Whether it derives from AttentionSpec."""
    holds_states: ClassVar[bool] = False
    """Whether a page holds the states of one request, and no tokens."""
    latent: ClassVar[bool] = False
    """Whether it caches one latent vector a token."""
    keeps_all: ClassVar[bool] = False
    """Whether it derives from FullAttentionSpec, which keeps every token."""
    windowed: ClassVar[bool] = False
    """Whether it derives from SlidingWindowSpec."""
    rings: ClassVar[bool] = False
    """Whether a request has one block of it, which is written round and round (CircularBufferSpec)."""
    pool_tail: ClassVar[bool] = False
    """Whether it keeps what the index of a latent cache has not pooled yet (KpoolTailSpec)."""
    aligns_blocks: ClassVar[bool] = False
    """Whether a block of the pool is a multiple of its page (HiSparseHotSpec)."""
    latent_window: ClassVar[bool] = False
    """Whether it derives from SlidingWindowMLASpec."""
    chunked: ClassVar[bool] = False
    """Whether it attends within chunks of tokens (ChunkedLocalAttentionSpec)."""
    has_sinks: ClassVar[bool] = False
    """Whether it has attention sinks (SinkFullAttentionSpec)."""
    hidden_states: ClassVar[bool] = False
    """Whether it stores the hidden states of another model's layers (HiddenStateCacheSpec)."""
    pads_freely: ClassVar[bool] = True
    """Whether a page may be padded to any size, from 0.29 on."""
    packs_int4: ClassVar[bool] = True
    """Whether its formula knows that int4 packs two elements into a byte (up to 0.27)."""
    quantised_without_mode: ClassVar[bool] = False
    """Whether its pages are quantised although it names no mode (TQFullAttentionSpec)."""
    plain_latents: ClassVar[bool] = False
    """Whether it caches the latents of every token, and nothing else (MLAAttentionSpec itself)."""
    attn_type: ClassVar[str] = "decoder"
    """vLLM's attention type of its layers: `decoder`, `encoder_only` or `encoder_decoder`."""
    kept_as: ClassVar[str] = ""
    """The kind that keeps every token, of one that keeps less and can be planned so."""
    managed: ClassVar[bool] = True
    """Whether a manager of blocks is registered for it."""
    has_views: ClassVar[bool] = True
    """Whether layers get views of their pages."""
    each_its_own: ClassVar[bool] = False
    """Whether each layer of the group has a spec of its own."""
    reported: ClassVar[str] = ""
    """The kind as `get_kv_cache_spec_kind` names it, where that is another's."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> str:
            """Its kind, as documents name it."""

        @property
        def block_size(self) -> int:
            """Tokens of a block."""

        @property
        def page_size_padded(self) -> int | None:
            """Bytes of a page with its padding, where it has some."""

    @property
    def reported_kind(self) -> str:
        """The kind as vLLM's `get_kv_cache_spec_kind` names it."""
        return self.reported or self.kind

    @property
    def dcp_sharded(self) -> bool:
        """Whether decode context parallelism shards the cache."""
        return False

    @property
    def compress_ratio(self) -> int | Fraction:
        """Tokens of one stored state."""
        return 1

    @property
    def view_block_size(self) -> int | None:
        """Tokens of a kernel block in the view, if not the kernels'."""
        return None

    @property
    def indexes_kv_by_block_stride(self) -> bool:
        """Whether kernels find blocks by the stride of blocks, so that pages may be padded."""
        return False

    @property
    def kv_quant_mode(self) -> str:
        """How keys and values are quantised."""
        return "NONE"

    @property
    def precision(self) -> tuple[str, str] | None:
        """(dtype, quantisation mode) of keys and values, None where there are none."""
        return None

    @property
    def rank_heads(self) -> int | None:
        """KV heads of a rank, None where ranks do not share the heads out between them."""
        return None

    @property
    def mamba_cache_mode(self) -> str:
        """Which states are kept, "" where there are none."""
        return ""

    def layers_class(self, class_name: str) -> str:
        """The name of the class that its layers have of a backend's class."""
        return class_name

    @property
    def num_states(self) -> int:
        """States of a page."""
        return self.states_of(self.block_size)

    def states_of(self, tokens: int) -> int:
        """States that a number of tokens of a block store."""
        raise NotImplementedError

    def unpadded_bytes(self, unpadded: UnpaddedPage) -> int:
        """Bytes that a block of one layer fills, its padding left out."""
        raise NotImplementedError

    def page(self, unpadded: UnpaddedPage) -> int:
        """Bytes of a block of one layer, padding included (`page_size_bytes`). Raises Refused for too little of it."""
        size = self.unpadded_bytes(unpadded)
        if self.page_size_padded is None:
            return size
        if self.page_size_padded < size:
            text = f"page_size_padded is {counted(self.page_size_padded, 'byte')}, the page itself {size}"
            raise Refused("AssertionError", text, function="page_size_bytes", kind="padded-page")
        return self.page_size_padded

    def request_blocks(self, load: Load) -> int:
        """Blocks of a layer that the longest request holds (`max_memory_usage_bytes` in pages)."""
        raise NotImplementedError

    def grows(self, load: Load) -> bool:
        """Whether a request holds the more blocks the longer it is."""
        return False

    def shards(self, load: Load) -> int:
        """Over how many ranks the tokens of a request are spread."""
        return load.context_shards

    @property
    def marks_by_name(self) -> Mapping[str, Any]:
        """Fields that move no byte and only tell specs apart."""
        return {}


class SpecOfLayers(Spec):
    """A spec that is one layer's, or that of all layers of its group."""

    __slots__ = ()

    @property
    def token_bytes(self) -> int:
        """Bytes of one token's hidden states, 0 for a kind that stores none."""
        return 0

    def padded(self, page: int) -> Self:
        """The spec with its page padded to a number of bytes, where it can be."""
        return self

    def retaining(self, tokens: int) -> Self:
        """The spec with a number of tokens kept behind its window, where it has one."""
        return self

    @property
    def first(self) -> Self:
        """The spec of a group's first layer."""
        return self

    @property
    def each(self) -> tuple[Self, ...]:
        """The specs of a group's layers, those alike once."""
        return (self,)

    def of_layer(self, layer: str) -> Self | None:
        """The spec of a layer of the group; None where it has none."""
        return self

    def by_spec(self, layers: tuple[str, ...]) -> dict[Any, tuple[str, ...]]:
        """Spec → those of the group's layers that have it, in their order."""
        return {self: layers} if layers else {}

    def entry(self, fields: Callable[[Self], Mapping[str, Any]]) -> dict[str, Any]:
        """The spec as a document writes it, with the fields of one layer's spec."""
        return {"kind": self.kind, **fields(self)}

    def mapped(self, change: Callable[[Self, str], Any], layer: str) -> Any:
        """What a change makes of the spec of a group whose first layer is given."""
        return change(self, layer)

    def only(self, layers: Mapping[str, object]) -> Self:
        """The spec of the group where it has these layers alone."""
        return self

    def merged(self, specs: Sequence[Any], rules: MergeRules) -> Self:
        """The one spec of distinct specs, of which this is the first (`merge`). Raises Refused where they differ."""
        if len(specs) > 1:
            raise unlike("the layers' specs differ")
        return self

    def same_slots(self, other: Spec, rules: Rules) -> bool:
        """Whether another layer needs the same number of slots as a group's first (`is_uniform_with_collection`)."""
        same = self.block_size == other.block_size and self.dcp_sharded == other.dcp_sharded
        return same and self.goes_with(other, rules)

    def goes_with(self, other: Any, rules: Rules) -> bool:
        """Whether a layer with blocks alike is of the type, and keeps the same number of tokens."""
        return bool(other.kind == self.kind)

    def aligned(self, data: UnpaddedPage) -> Self:
        """The spec with its page rounded up to its alignment, which only latent ones have."""
        return self

    def checked(self) -> Self:
        """The spec, as its class takes it. Raises Refused where that refuses a value."""
        return self


def blocks_of(tokens: int, block_size: int) -> int:
    """Blocks that hold a number of tokens.

    >>> blocks_of(17, 16)
    2
    """
    return -(-tokens // block_size)
