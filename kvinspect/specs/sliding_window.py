"""A window over the last tokens (`SlidingWindowSpec`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from kvinspect.document.refusal import Refused
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.spec import blocks_of

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load, Rules


class SlidingWindowSpec(AttentionSpec):
    """The spec of a layer that gives back what the window has left behind."""

    __slots__ = ()

    windowed: ClassVar[bool] = True
    kept_as: ClassVar[str] = "full_attention"
    handed_on: ClassVar[tuple[str, ...]] = ("head_size_v", "kv_quant_mode", "sliding_window")
    packs_int4: ClassVar[bool] = False

    def goes_with(self, other: Any, rules: Rules) -> bool:
        """Windows alike, over tokens or over latents."""
        return bool(other.windowed and other.sliding_window == self.sliding_window)

    def retaining(self, tokens: int) -> Self:
        """The window with a number of tokens kept behind it."""
        return self._replace(extra_retained_tokens=tokens)

    def request_blocks(self, load: Load) -> int:
        """The window and what is in flight, and a block more since a window begins anywhere. Raises Refused."""
        self.check_shards(load)
        held = (self.sliding_window or 0) - 1 + self.extra_retained_tokens + load.max_in_flight_tokens
        return blocks_of(min(held, load.max_model_len), self.block_size) + 1

    def check_shards(self, load: Load) -> None:
        """Raises Refused where ranks cannot share a window."""
        if load.decode_shards > 1 and self.dcp_sharded:
            text = "layers with a sliding window cannot spread their tokens over decode ranks"
            raise Refused("AssertionError", text, function="max_memory_usage_bytes", kind="window-and-dcp")
