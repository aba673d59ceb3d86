"""The CUDA graph modes (`CUDAGraphMode` in `vllm/config/compilation.py`)."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class _Routines(NamedTuple):
    decode: str
    """What runs a batch of decodes alone: NONE, PIECEWISE or FULL."""
    mixed: str
    """What runs any other batch."""
    separate: bool
    """Whether the two have graphs of their own."""


class CUDAGraphMode(Enum):
    """What is captured."""

    NONE = _Routines("NONE", "NONE", False)
    PIECEWISE = _Routines("PIECEWISE", "PIECEWISE", False)
    FULL = _Routines("FULL", "FULL", False)
    FULL_DECODE_ONLY = _Routines("FULL", "NONE", True)
    FULL_AND_PIECEWISE = _Routines("FULL", "PIECEWISE", True)

    @property
    def full_decode(self) -> bool:
        """Whether a batch of decodes runs as one graph, attention inside."""
        return self.value.decode == "FULL"

    @property
    def full_mixed(self) -> bool:
        """Whether every other batch does as well."""
        return self.value.mixed == "FULL"

    @property
    def piecewise(self) -> bool:
        """Whether graphs are cut at the attention, which only vLLM's own compilation does."""
        return "PIECEWISE" in (self.value.decode, self.value.mixed)

    @property
    def rank(self) -> int:
        """How much of the work is captured, for comparing two modes."""
        return [
            CUDAGraphMode.NONE,
            CUDAGraphMode.PIECEWISE,
            CUDAGraphMode.FULL_DECODE_ONLY,
            CUDAGraphMode.FULL_AND_PIECEWISE,
            CUDAGraphMode.FULL,
        ].index(self)
