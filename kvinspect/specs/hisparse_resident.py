"""Pages that HiSparse keeps on the device until the host has them (`HiSparseResidentSpec`, 0.30 on)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvinspect.specs.raw_pages import RawPagesSpec
from kvinspect.specs.spec import blocks_of

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load


class HiSparseResidentSpec(RawPagesSpec):
    """The spec of pages that can be taken back."""

    __slots__ = ()

    def request_blocks(self, load: Load) -> int:
        """Those of the tokens in flight, or of all tokens of the request where the release counts so."""
        held = min(load.max_in_flight_tokens, load.max_model_len) if load.residents_in_flight else load.max_model_len
        return blocks_of(held, self.block_size)

    def grows(self, load: Load) -> bool:
        """Where all tokens count."""
        return not load.residents_in_flight
