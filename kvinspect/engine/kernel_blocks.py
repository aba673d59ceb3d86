"""The block size of the kernels of each group, chosen as the engine chooses it.

Follows `prepare_kernel_block_sizes` and `select_common_block_size` (0.25 to 0.28).
"""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.engine.backends import Backend
from kvinspect.engine.groups import AttentionGroup, KVCacheGroup
from kvinspect.engine.refusal import Refused


def kernel_block_sizes(
    groups: Sequence[KVCacheGroup], attention: Sequence[Sequence[AttentionGroup]]
) -> tuple[int, ...]:
    """Tokens of a kernel block of each group but encoder-only ones, which the engine leaves out of the list.

    Raises Refused where the backends of a group take no common size.
    """
    sizes = []
    for group, members in zip(groups, attention, strict=True):
        kind = group.first_spec.kind
        if kind == "encoder_only_attention":
            continue
        if kind == "mamba":
            sizes.append(group.first_spec.block_size)
        else:
            sizes.append(common_block_size(group, [member.backend for member in members]))
    return tuple(sizes)


def common_block_size(group: KVCacheGroup, backends: Sequence[Backend]) -> int:
    """The manager's size if all backends take it, else the largest fixed size that all take and that divides it.

    Raises Refused where there is none.
    """
    manager = group.spec.block_size
    if all(backend.takes_kernel_block(manager) for backend in backends):
        return manager
    fixed = {size for backend in backends for size in backend.kernel_block_sizes if isinstance(size, int)}
    for size in sorted(fixed, reverse=True):
        if manager % size == 0 and all(backend.takes_kernel_block(size) for backend in backends):
            return size
    names = " and ".join(dict.fromkeys(backend.name for backend in backends))
    text = f"no kernel block size of {names} divides the block size {manager}"
    path = (*group.path, "kv_cache_spec", "block_size")
    raise Refused("ValueError", text, function="select_common_block_size", path=path, kind="no-common-block-size")
