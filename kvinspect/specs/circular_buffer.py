"""A ring of one block a request, for keys that are still to be compressed (`CircularBufferSpec`, 0.29 on)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kvinspect.specs.attention import AttentionSpec

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load


class CircularBufferSpec(AttentionSpec):
    """The spec of a layer whose block is written round and round; `block_size` is the length of the ring."""

    __slots__ = ()

    rings: ClassVar[bool] = True

    def request_blocks(self, load: Load) -> int:
        """One, however long the request is."""
        return 1
