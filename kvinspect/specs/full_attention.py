"""Full attention, which keeps every token (`FullAttentionSpec`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.spec import blocks_of
from kvinspect.specs.unlike import agree, one_size, require, unlike

if TYPE_CHECKING:
    from kvinspect.specs.needs import Load, MergeRules, Rules


class FullAttentionSpec(AttentionSpec):
    """The spec of a layer that keeps every token."""

    __slots__ = ()

    keeps_all: ClassVar[bool] = True

    def goes_with(self, other: Any, rules: Rules) -> bool:
        """All kinds that derive from full attention need the same number of slots."""
        return bool(other.keeps_all)

    def request_blocks(self, load: Load) -> int:
        """Blocks of the longest request, spread over ranks where they share its tokens."""
        shards = load.context_shards if self.dcp_sharded else 1
        return blocks_of(blocks_of(load.max_model_len, shards), self.block_size)

    def grows(self, load: Load) -> bool:
        """Every token takes room."""
        return True

    def merged(self, specs: Sequence[Any], rules: MergeRules) -> Self:
        """`FullAttentionSpec.merge`: windows and chunks count where all that have one have the same."""
        require(specs, "keeps_all", "full attention is mixed with another kind")
        self.merge_kind(specs)
        if any(spec.latent for spec in specs):
            raise unlike("full attention is mixed with latent attention")
        window = one_size({spec.sliding_window for spec in specs} - {None}, "windows")
        chunk = one_size({spec.attention_chunk_size for spec in specs} - {None}, "chunks")
        agree(specs, rules.compared)
        if window is not None and chunk is not None:
            raise unlike("some layers have a sliding window and some chunks")
        self.merge_fields(specs, rules)
        causal = not any(spec.non_causal for spec in specs)
        return self._replace(sliding_window=window, attention_chunk_size=chunk, non_causal=not causal)

    def merge_kind(self, specs: Sequence[Any]) -> None:
        """What a class asks before all else. Raises Refused."""

    def merge_fields(self, specs: Sequence[Any], rules: MergeRules) -> None:
        """What a class asks of fields of its own. Raises Refused."""
