"""Attention of a decoder to its encoder, whose length is bounded (`CrossAttentionSpec`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kvinspect.specs.attention import OneSize
from kvinspect.specs.spec import blocks_of

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load


class CrossAttentionSpec(OneSize):
    """The spec of a layer that keeps what the encoder has seen."""

    __slots__ = ()

    attn_type: ClassVar[str] = "encoder_decoder"

    def request_blocks(self, load: Load) -> int:
        """Blocks of the longest input of the encoder."""
        return blocks_of(load.max_num_encoder_input_tokens, self.block_size)
