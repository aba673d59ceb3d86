"""Reference sliding windows: a prompt that is kept whole, and a window over what is generated (`RSWASpec`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from kvinspect.specs.full_attention import FullAttentionSpec
from kvinspect.specs.unlike import agree, unlike


class RSWASpec(FullAttentionSpec):
    """Planned as full attention; a request may give blocks back while it runs."""

    __slots__ = ()

    reported: ClassVar[str] = "full_attention"

    def merge_kind(self, specs: Sequence[Any]) -> None:
        """Only its own kind, with windows alike."""
        if any(spec.kind != self.kind for spec in specs):
            raise unlike("reference sliding windows are mixed with another kind")
        agree(specs, ("rswa_window",))
