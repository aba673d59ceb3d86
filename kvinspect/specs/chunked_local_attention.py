"""Attention within chunks of tokens (`ChunkedLocalAttentionSpec`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kvinspect.specs.attention import OneSize
from kvinspect.specs.spec import blocks_of

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load, Rules


class ChunkedLocalAttentionSpec(OneSize):
    """The spec of a layer that gives a chunk back when the next one begins."""

    __slots__ = ()

    chunked: ClassVar[bool] = True
    kept_as: ClassVar[str] = "full_attention"
    handed_on: ClassVar[tuple[str, ...]] = ("attention_chunk_size",)

    def layers_class(self, class_name: str) -> str:
        """A class that the engine makes for each size of a chunk."""
        return f"ChunkedLocalAttention_{self.attention_chunk_size}_{class_name}"

    def goes_with(self, other: Any, rules: Rules) -> bool:
        """Chunks alike."""
        return bool(other.kind == self.kind and other.attention_chunk_size == self.attention_chunk_size)

    def request_blocks(self, load: Load) -> int:
        """A chunk and what is in flight."""
        held = (self.attention_chunk_size or 0) + load.max_in_flight_tokens
        return blocks_of(min(held, load.max_model_len), self.block_size)
