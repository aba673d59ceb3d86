"""How long the blocks are by which prefixes are found again (`resolve_kv_cache_block_sizes`, 0.25 to 0.33)."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd, lcm
from typing import Any, NamedTuple

from kvinspect.engine.groups import KVCacheGroup


class PrefixBlocks(NamedTuple):
    """Tokens of the scheduler's block, of the block that is hashed, and of each group's own.

    Prefixes are found again in steps of `hits`, so a prompt that is not longer than that never hits.
    """

    scheduler: int
    hashed: int
    groups: tuple[int, ...]
    hits: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON, in tokens."""
        return {"scheduler_block": self.scheduler, "hash_block": self.hashed, "never_hits_up_to": self.hits}


def prefix_blocks(
    groups: Sequence[KVCacheGroup], block_size: int, shards: int, hashes: bool, by_mode: bool
) -> PrefixBlocks:
    """The sizes for groups of blocks; `block_size` is the engine's, `shards` the ranks that share tokens.

    `hashes`: whether prefix caching or a connector asks for hashes. `by_mode`: whether states count by their mode (0.30
    on) or by their block size.
    """
    sizes = tuple(_tokens(group, shards) for group in groups)
    if len(groups) <= 1:
        size = block_size * (shards if not groups or _is_sharded(groups[0]) else 1)
        return PrefixBlocks(size, size, sizes, size)
    whole = lcm(*sizes)
    coarse = not hashes or any(_stands_alone(group, block_size, by_mode) for group in groups)
    hashed = whole if coarse else gcd(*sizes)
    partial = by_mode and any(
        _ends_early(group, size, hashed, shards) for group, size in zip(groups, sizes, strict=True)
    )
    return PrefixBlocks(whole, hashed, sizes, hashed if partial else whole)


def _ends_early(group: KVCacheGroup, size: int, hashed: int, shards: int) -> bool:
    """Whether a group's states can be found again within a block."""
    spec = group.first_spec
    return spec.mamba_cache_mode == "align" and (size > hashed or (shards > 1 and size == hashed))


def _tokens(group: KVCacheGroup, shards: int) -> int:
    return group.spec.block_size * (shards if _is_sharded(group) else 1)


def _is_sharded(group: KVCacheGroup) -> bool:
    return group.first_spec.is_attention


def _stands_alone(group: KVCacheGroup, block_size: int, by_mode: bool) -> bool:
    """Whether a group's states have blocks of their own."""
    spec = group.first_spec
    if not spec.holds_states:
        return False
    return spec.mamba_cache_mode != "align" if by_mode else spec.block_size != block_size
