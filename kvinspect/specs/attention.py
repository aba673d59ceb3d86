"""The fields of every attention layer's spec, and what holds for all of their kinds (`AttentionSpec`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

from kvinspect.document.words import DTYPE_BYTES
from kvinspect.specs.spec import SpecOfLayers

if TYPE_CHECKING:
    from fractions import Fraction

    from kvinspect.specs.needs import UnpaddedPage


class _Fields(NamedTuple):
    kind: str
    block_size: int
    num_kv_heads: int
    head_size: int
    head_size_v: int
    dtype: str
    kv_quant_mode: str = "NONE"
    page_size_padded: int | None = None
    indexes_kv_by_block_stride: bool = False
    num_head_slots: int | None = None
    state_content_bytes: int | None = None
    sliding_window: int | None = None
    extra_retained_tokens: int = 0
    attention_chunk_size: int | None = None
    non_causal: bool = False
    sink_len: int | None = None
    rswa_window: int | None = None
    tq_slot_size: int = 0
    cache_dtype_str: str | None = None
    alignment: int | None = None
    compress_ratio: int | Fraction = 1
    """Tokens of one stored state; called `tokens_per_state` from 0.29 on, where it may be a fraction."""
    model_version: str | None = None
    non_causal_multi_token_decode: bool = False
    dcp_sharded: bool = True
    """Whether decode context parallelism shards the cache (0.33)."""
    block_stride_alignment: int | str | None = None
    """Bytes that the stride of blocks is a multiple of, or `64n`: whole kernel blocks of up to 64 tokens (0.33)."""
    view_block_size: int | None = None
    """The document's `storage_block_size`: tokens of a kernel block in the view, if not the kernels' (0.30)."""
    marks: tuple[tuple[str, Any], ...] = ()
    """Fields that move no byte and only tell specs apart."""


class AttentionSpec(_Fields, SpecOfLayers):
    """The spec of an attention layer; sizes are in elements but where a name says bytes."""

    __slots__ = ()

    is_attention: ClassVar[Literal[True]] = True
    holds_states: ClassVar[Literal[False]] = False
    has_views: ClassVar[Literal[True]] = True
    each_its_own: ClassVar[Literal[False]] = False

    handed_on: ClassVar[tuple[str, ...]] = ()
    """Fields that the kind it is kept as gets, beside those of every kind (0.25 to 0.27)."""

    @classmethod
    def of_fields(cls, kind: str, fields: Mapping[str, Any], *, says_v: bool) -> Self:
        """The spec of a kind with fields that are given.

        `says_v`: whether the V size is a field of every attention spec (0.28 on), so that a latent one, which has no V
        apart, has 0 where nothing is said; else V is as large as K.
        """
        head_size_v = 0 if says_v and cls.latent else fields["head_size"]
        return cls(kind, **{"head_size_v": head_size_v, **fields})

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return DTYPE_BYTES[self.dtype]

    @property
    def storage_block_size(self) -> int:
        """States that a block stores: fewer than its tokens where the cache is compressed."""
        return self.states_of(self.block_size)

    def states_of(self, tokens: int) -> int:
        """States that a number of tokens of a block store."""
        return int(tokens // self.compress_ratio) if self.compress_ratio > 0 else 1

    @property
    def num_heads(self) -> int:
        """Head slots of a page: one a KV head where the backend packs nothing else (0.28 on)."""
        return self.num_head_slots or self.num_kv_heads

    @property
    def precision(self) -> tuple[str, str]:
        """(dtype, quantisation mode) of keys and values."""
        return self.dtype, self.kv_quant_mode

    @property
    def rank_heads(self) -> int | None:
        """KV heads of a rank; None of a latent one, which every rank holds whole."""
        return None if self.latent else self.num_kv_heads

    @property
    def per_token_head(self) -> bool:
        """Whether each token and head has a scale of its own beside its data."""
        return self.kv_quant_mode.endswith("_PER_TOKEN_HEAD")

    @property
    def marks_by_name(self) -> Mapping[str, Any]:
        """Fields that move no byte and only tell specs apart."""
        return dict(self.marks)

    @property
    def content_bytes(self) -> int:
        """Bytes of one head slot's state, 0.28 on (`state_content_size_bytes`)."""
        return self.state_content_bytes or (self.head_size + self.head_size_v) * self.itemsize

    @property
    def value_size(self) -> int:
        """Elements of one head's value, as the formula of its class has it (up to 0.27)."""
        return self.head_size_v

    def data_bytes(self) -> int:
        """Bytes of keys and values in a page, 0.25 to 0.27 (`real_page_size_bytes` of each class)."""
        return self.block_size * self.num_kv_heads * self._head_elements() * self.itemsize

    def _head_elements(self) -> int:
        """Elements of a head's key and value as they are packed."""
        sizes = (self.head_size, self.value_size)
        if self.kv_quant_mode == "NVFP4":
            return sum(nvfp4_elements(size) for size in sizes)
        if self.kv_quant_mode == "INT4_PER_TOKEN_HEAD" and self.packs_int4:
            return sum(size // 2 for size in sizes)
        return sum(sizes)

    def padded(self, page: int) -> Self:
        """The spec with its page padded to a number of bytes."""
        return self._replace(page_size_padded=page)

    def unpadded_bytes(self, unpadded: UnpaddedPage) -> int:
        """Bytes that a block of one layer fills, its padding left out."""
        return unpadded(self)


class OneSize(AttentionSpec):
    """Kinds whose formula takes values to be as large as keys (up to 0.27)."""

    __slots__ = ()

    @property
    def value_size(self) -> int:
        """The size of a key, whatever is said."""
        return self.head_size


def nvfp4_elements(size: int) -> int:
    """Bytes of `size` fp4 elements and of the fp8 scales of their blocks of 16.

    >>> nvfp4_elements(128)
    72
    """
    return size // 2 + size // 16
