"""Pages that HiSparse keeps on the device for a request while it runs (`HiSparseHotSpec`, 0.30 on)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from kvinspect.specs.raw_pages import RawPagesSpec

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load


class HiSparseHotSpec(RawPagesSpec):
    """The spec of a fixed number of pages a request."""

    __slots__ = ()

    aligns_blocks: ClassVar[bool] = True

    def request_blocks(self, load: Load) -> int:
        """The number that the spec gives."""
        return self.blocks_per_request
