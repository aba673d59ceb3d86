"""What the kinds of specs ask of a deployment and of a release, and what the formula of a page asks of a spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol


class Load(Protocol):
    """What the blocks of a request depend on; lengths in tokens."""

    @property
    def max_model_len(self) -> int:
        """The longest request."""

    @property
    def max_in_flight_tokens(self) -> int:
        """Tokens that are scheduled and not settled."""

    @property
    def max_num_encoder_input_tokens(self) -> int:
        """The longest input of an encoder."""

    @property
    def context_shards(self) -> int:
        """Over how many ranks the tokens of full attention are spread."""

    @property
    def decode_shards(self) -> int:
        """Ranks of decode context parallelism."""

    @property
    def mamba_cache_mode(self) -> str:
        """Which states are kept."""

    @property
    def residents_in_flight(self) -> bool:
        """Whether HiSparse keeps as many pages resident as tokens in flight fill."""


class Heads(Protocol):
    """What the formula of an attention layer's page asks of its spec; sizes in elements but where a name says bytes."""

    @property
    def block_size(self) -> int:
        """Tokens of a block."""

    @property
    def num_kv_heads(self) -> int:
        """Heads of keys and values."""

    @property
    def num_heads(self) -> int:
        """Head slots of a page (0.28 on)."""

    @property
    def num_states(self) -> int:
        """States of a page."""

    @property
    def content_bytes(self) -> int:
        """Bytes of one head slot's state (0.28 on)."""

    @property
    def per_token_head(self) -> bool:
        """Whether each token and head has a scale of its own beside its data."""

    def data_bytes(self) -> int:
        """Bytes of keys and values in a page (up to 0.27)."""


UnpaddedPage = Callable[[Heads], int]
"""Bytes of an attention layer's page without padding, by a release's rule."""


class MergeRules(NamedTuple):
    """The fields that a release compares when it merges attention specs, and those of latent ones."""

    compared: tuple[str, ...]
    latent_compared: tuple[str, ...]
    latent_has_v: bool
    """Whether a merged latent spec says `head_size_v` again."""


class Rules(Protocol):
    """What a release's spec classes do otherwise than another's."""

    @property
    def unpadded(self) -> UnpaddedPage:
        """Bytes of an attention layer's page without padding."""

    @property
    def state_slots(self) -> Callable[..., Any]:
        """What states of one type have in common."""
