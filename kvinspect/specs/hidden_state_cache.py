"""Hidden states of a model's layers, kept in pages of a cache (`HiddenStateCacheSpec`)."""

from __future__ import annotations

from typing import ClassVar

from kvinspect.specs.mla_attention import MLAAttentionSpec


class HiddenStateCacheSpec(MLAAttentionSpec):
    """Planned as a latent cache, in a group of its own."""

    __slots__ = ()

    plain_latents: ClassVar[bool] = False
    hidden_states: ClassVar[bool] = True
    reported: ClassVar[str] = "mla_attention"

    @property
    def token_bytes(self) -> int:
        """Bytes of one token's hidden states."""
        return self.num_kv_heads * self.head_size * self.itemsize
