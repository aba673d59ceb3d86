"""What vLLM's own offloading needs of a planned cache, and how much of it the memory of the host holds.

Follows `build_offloading_config`, `CPUOffloadingSpec` and `resolve_kv_cache_block_sizes` (0.25 to 0.33).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import Any, NamedTuple

from kvinspect.connectors.catalogue import NATIVE
from kvinspect.connectors.configured import SIMPLE, Transfer, refused
from kvinspect.document.refusal import Refused

PAGE = 4096
"""Bytes to which a chunk is rounded up in the shared memory of the ranks (0.27 on)."""


class Offloaded(NamedTuple):
    """How much of the cache the memory of the host holds: blocks of all groups, of all ranks together."""

    connector: str
    size: int
    blocks: int

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON; `size` in bytes."""
        return self._asdict()


def check_hashes(transfer: Transfer, group_sizes: Sequence[int], hash_size: int) -> None:
    """Raises Refused where a group's blocks are no multiple of the block that prefixes are hashed by."""
    if all(one.name != NATIVE for one in transfer.ends):
        return
    for size in group_sizes:
        if size % hash_size:
            least = f"blocks of {size} tokens cannot be offloaded by hashes of {hash_size}"
            text = f"{least}, the least common multiple of {' and '.join(map(str, sorted(set(group_sizes))))}; "
            text += "--enable-prefix-caching makes them fit" if hash_size == lcm(*group_sizes) else ""
            raise Refused("AssertionError", text.rstrip("; "), function="build_offloading_config", kind="offloading")


def offloaded(
    transfer: Transfer, group_sizes: Sequence[int], bytes_per_block: int, ranks: int, rounds: bool
) -> Offloaded | None:
    """What an offloading connector holds, None for others.

    `rounds`: whether the ranks share one region, in which a chunk takes whole pages. Raises DocumentError for chunks
    that the cache's blocks do not make.
    """
    ends = [one for one in transfer.ends if one.name in (NATIVE, SIMPLE)]
    if not ends or not bytes_per_block:
        return None
    name, extra = ends[0].name, ends[0].extra
    size = _whole(extra.get("cpu_bytes_to_use"))
    if name == SIMPLE:
        return Offloaded(name, size, max(1, size // (bytes_per_block * ranks))) if size else None
    if not size:
        raise refused("OffloadingConnector needs cpu_bytes_to_use in kv_connector_extra_config")
    chunk = bytes_per_block * ranks * _blocks_of_a_chunk(extra, group_sizes)
    chunk = -(-chunk // PAGE) * PAGE if rounds else chunk
    return Offloaded(name, size, size // chunk * _blocks_of_a_chunk(extra, group_sizes))


def _blocks_of_a_chunk(extra: Any, group_sizes: Sequence[int]) -> int:
    blocks, tokens = extra.get("blocks_per_chunk"), extra.get("block_size")
    if blocks is not None and tokens is not None:
        raise refused("block_size and blocks_per_chunk of kv_connector_extra_config are not taken together")
    if blocks is not None:
        if _whole(blocks) < 1:
            raise refused("blocks_per_chunk of kv_connector_extra_config is a whole number from 1 on")
        return _whole(blocks)
    if tokens is None:
        return 1
    if len(set(group_sizes)) != 1 or not _whole(tokens) or _whole(tokens) % group_sizes[0]:
        sizes = " and ".join(map(str, sorted(set(group_sizes))))
        raise refused(f"block_size {tokens} of kv_connector_extra_config is no multiple of one block size ({sizes})")
    return _whole(tokens) // group_sizes[0]


def _whole(value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0
