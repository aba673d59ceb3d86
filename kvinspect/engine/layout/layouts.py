"""The physical layouts of a KV cache whose logical shape is `[L, B, H, N, C]` (`KVCacheLayout`, 0.29 on).

L counts layers, B blocks, H head slots, N states (tokens, where nothing is compressed), C the bytes of one state.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

L, B, H, N, C = range(5)
"""The logical axes."""


class KVCacheLayout(Enum):
    """A layout: the logical axes in memory order, the outermost first. In the engine's order, which breaks ties."""

    LBHNC = (L, B, H, N, C)
    LBNHC = (L, B, N, H, C)
    LHBNC = (L, H, B, N, C)
    BLHNC = (B, L, H, N, C)
    BLNHC = (B, L, N, H, C)
    BHLNC = (B, H, L, N, C)

    @property
    def layer_outermost(self) -> bool:
        """Whether each layer has a region of its own (`is_layer_compact`)."""
        return self.value[0] == L

    @property
    def block_outermost(self) -> bool:
        """Whether each block holds the pages of all layers (`is_block_outermost`)."""
        return self.value[0] == B

    @property
    def whole_pages(self) -> bool:
        """Whether a layer's page of one block is one run of bytes (`is_block_compact`)."""
        return {L, B} == set(self.value[:2])


class Layout(NamedTuple):
    """The layout in force by its name, why it is, and all that would have done, the most preferred first."""

    name: str
    why: str = ""
    candidates: tuple[KVCacheLayout, ...] = ()

    @property
    def standard(self) -> KVCacheLayout:
        """The order of the logical axes in memory. Raises KeyError for the words of releases before 0.29."""
        return KVCacheLayout[self.name]


ALIASES = {"NHD": "LBNHC", "HND": "LBHNC"}
"""The words of VLLM_KV_CACHE_LAYOUT up to 0.28, which go on to be taken."""

PREFERENCE = ("LBNHC", "LBHNC", "BLNHC", "BLHNC", "BHLNC", "LHBNC")
"""What is tried, in order, where no backend asks for anything."""


def layout_of(word: str) -> KVCacheLayout:
    """The layout that a word names.

    >>> layout_of("HND").name
    'LBHNC'
    """
    return KVCacheLayout[ALIASES.get(word, word)]
