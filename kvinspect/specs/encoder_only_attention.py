"""Attention of an encoder, which keeps nothing (`EncoderOnlyAttentionSpec`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kvinspect.specs.attention import OneSize

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load


class EncoderOnlyAttentionSpec(OneSize):
    """The spec of a layer without a KV cache."""

    __slots__ = ()

    managed: ClassVar[bool] = False
    attn_type: ClassVar[str] = "encoder_only"

    def request_blocks(self, load: Load) -> int:
        """None."""
        return 0
