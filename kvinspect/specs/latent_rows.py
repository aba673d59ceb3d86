"""What caches of latent vectors have in common: pages by the format of a row, and an alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from kvinspect.specs.attention import AttentionSpec
    from kvinspect.specs.needs import UnpaddedPage

ROWS = {"fp8_ds_mla": 656}
"""Cache dtype → bytes of a latent row, where it is no matter of elements: DeepSeek V3's own fp8 format."""
DEEPSEEK_V4_ROW = 584
"""Bytes of a latent row in DeepSeek V4's."""


class Latent:
    """A page of latent rows, padded to an alignment."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def alignment(self) -> int | None:
            """Bytes that a page is rounded up to."""

        def _replace(self, **changes: object) -> Self: ...

    def aligned(self, data: UnpaddedPage) -> Self:
        """The spec with its page rounded up to `alignment` (`_apply_alignment_padding`)."""
        if self.alignment is None:
            return self
        size = data(self)  # type: ignore[arg-type]
        padded = -(-size // self.alignment) * self.alignment
        return self if padded == size else self._replace(page_size_padded=padded)


def is_deepseek_v4(spec: AttentionSpec) -> bool:
    """Whether rows have DeepSeek V4's own fp8 format."""
    return spec.cache_dtype_str == "fp8_ds_mla" and spec.model_version == "deepseek_v4"
