"""Latent attention: one vector a token in place of keys and values (`MLAAttentionSpec`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kvinspect.specs.full_attention import FullAttentionSpec
from kvinspect.specs.latent_rows import DEEPSEEK_V4_ROW, ROWS, Latent, is_deepseek_v4
from kvinspect.specs.unlike import agree, require, unlike

if TYPE_CHECKING:
    from kvinspect.specs.needs import MergeRules


class MLAAttentionSpec(Latent, FullAttentionSpec):
    """The spec of a layer that keeps a latent vector of every token."""

    __slots__ = ()

    latent: ClassVar[bool] = True
    plain_latents: ClassVar[bool] = True
    pads_freely: ClassVar[bool] = False

    def data_bytes(self) -> int:
        """Bytes of the rows of a page, by their format (0.25 to 0.27)."""
        if is_deepseek_v4(self):
            return self.storage_block_size * DEEPSEEK_V4_ROW
        if self.cache_dtype_str in ROWS:
            return self.block_size * ROWS[self.cache_dtype_str]
        elements = self.head_size // 2 if self.kv_quant_mode == "INT4_PER_TOKEN_HEAD" else self.head_size
        return self.storage_block_size * self.num_kv_heads * elements * self.itemsize

    def merged(self, specs: Sequence[Any], rules: MergeRules) -> Self:
        """`MLAAttentionSpec.merge`: what belongs to other classes, and the alignment, is not handed on."""
        require(specs, "keeps_all", "latent attention is mixed with another kind")
        require(specs, "latent", "latent attention is mixed with another kind")
        agree(specs, ("cache_dtype_str", "compress_ratio", "model_version", "indexes_kv_by_block_stride", "marks"))
        agree(specs, ("view_block_size", "block_stride_alignment", *rules.latent_compared))
        if self.head_size_v and not rules.latent_has_v:
            raise unlike("a latent spec that sets head_size_v differs from the spec that it is merged into")
        return self._replace(
            head_size_v=self.head_size if rules.latent_has_v else 0,
            alignment=None,
            sliding_window=None,
            attention_chunk_size=None,
            non_causal=False,
            non_causal_multi_token_decode=any(spec.non_causal_multi_token_decode for spec in specs),
        )
