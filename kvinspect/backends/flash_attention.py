"""Which FlashAttention a layer gets on CUDA (`get_flash_attn_version`), and what its kernels do not take.

The head sizes that an fp8 cache goes with are here, and the fixed blocks of those of 512; of other backends what is
taken stands in their rows of the catalogue (`candidates.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kvinspect.backends.candidates import Ask, Misfit

SUPPORTED = {2: (8, 9, 10, 11, 12), 3: (9,), 4: (9, 10, 11)}
"""Version → families of compute capability that it is built for."""

QUANTIZED = ("fp8", "int", "nvfp4", "turboquant")
"""What the dtype of a quantized cache begins with."""

LARGE_FP8 = 512
"""The head size above 256 with which version 4 takes an fp8 cache on compute capability 9, in blocks of its own."""


class FlashAttentionRules(NamedTuple):
    """What differs between releases. Sizes are in tokens or, of heads, in elements."""

    quantized: tuple[tuple[int, int], ...] = ((3, 9), (4, 10))
    """(version, family of compute capability) that take an fp8 cache."""
    version_by_head: bool = True
    """Whether the version for an fp8 cache depends on the head size."""
    large_head: int = 256
    """The one head size above 128 that version 4 takes on compute capability 10 and up."""
    block_of_large_fp8: int | None = None
    """Tokens of version 4's blocks on compute capability 9 with heads of 512 in fp8, where they are fixed."""
    shares_prefix: tuple[int, ...] = (3, 4)
    """Versions with which Triton shares a layer whose images attend bidirectionally."""


class FlashAttention(NamedTuple):
    """FlashAttention on a device, in the version that is asked for, if one is."""

    rules: FlashAttentionRules
    capability: str | None
    asked: int | None = None

    @property
    def family(self) -> int:
        """The family of the compute capability."""
        return int((self.capability or "0").split(".")[0])

    def version(self, head_size: int) -> int | None:
        """The version for a head size in elements (0: whatever the size), None where none runs."""
        family = self.family
        version = {9: 3, 10: 4}.get(family, 2) if self.asked is None else self.asked
        if family >= 10 and version == 3:
            version = 4 if family in SUPPORTED[4] else 2
        if version == 3 and family == 9 and head_size > 256:
            version = 4
        if version == 4 and family >= 10 and head_size > 128 and head_size != self.rules.large_head:
            version = 2
        return version if family in SUPPORTED.get(version, ()) else None

    def misfits(self, ask: Ask) -> Iterator[Misfit]:
        """What of a layer the version that it gets does not take."""
        from kvinspect.backends.candidates import Misfit

        version = self.version(ask.head_size)
        if ask.cache_dtype.startswith(QUANTIZED) and not self._takes_quantized(ask.head_size):
            yield Misfit("cache dtype", f"KV cache dtype {ask.cache_dtype} with FlashAttention {version}", "")
        if ask.use_mm_prefix and version != 4:
            yield Misfit("attention", f"bidirectional attention with FlashAttention {version}", "")

    def _takes_quantized(self, head_size: int) -> bool:
        """Whether heads of a size may be quantized."""
        found = (self.version(head_size if self.rules.version_by_head else 0), self.family)
        large = self.rules.block_of_large_fp8 is not None and head_size == LARGE_FP8 and found == (4, 9)
        return found in self.rules.quantized or large

    def fixed_block(self, head_size: int, cache_dtype: str) -> int | None:
        """Tokens of its kernel blocks where the heads of the model fix them, None elsewhere."""
        large = head_size == LARGE_FP8 and cache_dtype in ("fp8", "fp8_e4m3")
        return self.rules.block_of_large_fp8 if large and (self.version(head_size), self.family) == (4, 9) else None
