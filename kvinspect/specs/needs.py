"""What the kinds of specs ask of a deployment and of a release; imported by type checkers alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from kvinspect.specs.spec import UnpaddedPage


class Load(Protocol):
    """What the blocks of a request hang on; lengths in tokens."""

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


class Rules(Protocol):
    """What a release's spec classes do otherwise than another's."""

    @property
    def unpadded(self) -> UnpaddedPage:
        """Bytes of an attention layer's page without padding."""

    @property
    def state_slots(self) -> Callable[..., Any]:
        """What states of one type have in common."""
