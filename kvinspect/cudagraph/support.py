"""How much of a batch an attention backend lets into a CUDA graph, and the least of many (`AttentionCGSupport`)."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class AttentionCGSupport(IntEnum):
    """The batches that a backend can be captured with, the fewest first."""

    NEVER = 0
    UNIFORM_SINGLE_TOKEN_DECODE = 1
    UNIFORM_BATCH = 2
    ALWAYS = 3


class AttentionCGSupportInfo(NamedTuple):
    """The least support among backends, and the class name of the first backend that has no more.

    Immutable; the source is `AttentionCGSupportInfo` in `vllm/v1/worker/gpu/attn_utils.py` (0.25 on, `narrow` from
    0.27 on, the same comparison written out before).
    """

    min_cg_support: AttentionCGSupport = AttentionCGSupport.ALWAYS
    min_cg_attn_backend: str | None = None

    def narrow(self, support: AttentionCGSupport, backend: str | None) -> AttentionCGSupportInfo:
        """The info with one more backend in it: a strictly lower support replaces this one, an equal one does not."""
        return AttentionCGSupportInfo(support, backend) if support < self.min_cg_support else self
