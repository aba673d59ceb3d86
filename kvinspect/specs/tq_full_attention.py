"""Full attention whose keys and values TurboQuant packs into slots (`TQFullAttentionSpec`, up to 0.27)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from kvinspect.document.refusal import Refused
from kvinspect.specs.full_attention import FullAttentionSpec
from kvinspect.specs.unlike import agree

if TYPE_CHECKING:
    from kvinspect.specs.needs import MergeRules


class TQFullAttentionSpec(FullAttentionSpec):
    """A slot of its own bytes for each token and head."""

    __slots__ = ()

    reported: ClassVar[str] = "full_attention"
    quantised_without_mode: ClassVar[bool] = True

    def data_bytes(self) -> int:
        """Slots times their bytes, or as full attention where no slot is said."""
        if not self.tq_slot_size:
            return super().data_bytes()
        return self.block_size * self.num_kv_heads * self.tq_slot_size

    def merge_fields(self, specs: Sequence[Any], rules: MergeRules) -> None:
        """Slots alike; a class without slots has no such field."""
        if any(spec.kind != self.kind for spec in specs):
            text = "TurboQuant layers are mixed with full attention without slots"
            raise Refused("AttributeError", text, function="merge")
        agree(specs, ("tq_slot_size",))
