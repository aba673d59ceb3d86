"""Full attention with attention sinks (`SinkFullAttentionSpec`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kvinspect.specs.full_attention import FullAttentionSpec
from kvinspect.specs.unlike import unlike

if TYPE_CHECKING:
    from kvinspect.specs.needs import MergeRules


class SinkFullAttentionSpec(FullAttentionSpec):
    """Planned as full attention."""

    __slots__ = ()

    has_sinks: ClassVar[bool] = True

    def merge_fields(self, specs: Sequence[Any], rules: MergeRules) -> None:
        """Its merge forgets `tokens_per_state`, which is then compared."""
        if "compress_ratio" in rules.compared and self.compress_ratio != 1:
            raise unlike("a spec with sinks that sets tokens_per_state differs from the spec that it is merged into")
