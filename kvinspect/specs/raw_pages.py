"""Pages without heads and states, which HiSparse fills and reads on its own (0.30 on)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple, NoReturn

from kvinspect.document.refusal import Refused
from kvinspect.specs.spec import SpecOfLayers

if TYPE_CHECKING:
    from kvinspect.specs.needs import UnpaddedPage


class _Fields(NamedTuple):
    kind: str
    block_size: int
    page_size: int
    blocks_per_request: int = 0
    dcp_sharded: bool = False
    block_stride_alignment: int | str | None = None


class RawPagesSpec(_Fields, SpecOfLayers):
    """The spec of pages of a given size in bytes; no layer gets a view of them."""

    __slots__ = ()

    is_attention: ClassVar[Literal[False]] = False
    holds_states: ClassVar[Literal[False]] = False
    has_views: ClassVar[Literal[False]] = False
    each_its_own: ClassVar[Literal[False]] = False
    pads_freely: ClassVar[bool] = False

    @property
    def page_size_padded(self) -> int | None:
        """None: a page is as large as is said."""
        return None

    @property
    def num_heads(self) -> int:
        """Raises Refused: there are none."""
        self._shapeless()

    @property
    def num_states(self) -> int:
        """Raises Refused: there are none."""
        self._shapeless()

    @property
    def content_bytes(self) -> int:
        """Raises Refused: there are none."""
        self._shapeless()

    def _shapeless(self) -> NoReturn:
        text = f"pages of a {self.kind} spec have no heads and states that a layout could put in order"
        raise Refused("NotImplementedError", text, function="num_heads", kind="raw-pages")

    def states_of(self, tokens: int) -> int:
        """Raises Refused: there are none."""
        self._shapeless()

    def unpadded_bytes(self, unpadded: UnpaddedPage) -> int:
        """The page as it is said."""
        return self.page_size
