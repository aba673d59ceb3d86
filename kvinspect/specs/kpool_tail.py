"""The tail of tokens that the index of a latent cache has not pooled yet (`KpoolTailSpec`, 0.30)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from kvinspect.specs.sliding_window import SlidingWindowSpec

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load, Rules


class KpoolTailSpec(SlidingWindowSpec):
    """The spec of a layer with one block a request; its class is that of a window."""

    __slots__ = ()

    reported: ClassVar[str] = "sliding_window"
    pool_tail: ClassVar[bool] = True

    def goes_with(self, other: Any, rules: Rules) -> bool:
        """Its own kind, whatever the window."""
        return bool(other.pool_tail)

    def request_blocks(self, load: Load) -> int:
        """One, however long the request is. Raises Refused as a window does."""
        self.check_shards(load)
        return 1
