"""The block size of the kernels of each group, chosen as the engine chooses it.

Follows `prepare_kernel_block_sizes` and `select_common_block_size` (0.25 on).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvinspect.backends.backend import fits
from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import AttentionGroup, KVCacheGroup


def kernel_block_sizes(
    groups: Sequence[KVCacheGroup],
    attention: Sequence[Sequence[AttentionGroup]],
    whole: Callable[[KVCacheGroup], bool] = lambda group: False,
) -> tuple[int, ...]:
    """Tokens of a kernel block of each group but encoder-only ones, which the engine leaves out of the list.

    `whole` says of which groups no block is ever split. Raises Refused where the backends of a group take no common
    size.
    """
    found = []
    for group, members in zip(groups, attention, strict=True):
        if not group.first_spec.managed:
            continue
        if group.first_spec.holds_states:
            found.append(group.first_spec.block_size)
        elif whole(group):
            found.append(group.spec.block_size)
        else:
            found.append(common_block_size(group, [(m.backend.name, m.backend.sizes_for(m.spec)) for m in members]))
    return tuple(found)


def common_block_size(group: KVCacheGroup, backends: Sequence[tuple[str, Sequence[int | str]]]) -> int:
    """The manager's size if all backends take it, else the largest fixed size that all take and that divides it.

    Raises Refused where there is none.
    """
    manager = group.spec.block_size
    if all(fits(manager, sizes) for _, sizes in backends):
        return manager
    fixed = {size for _, sizes in backends for size in sizes if isinstance(size, int)}
    for size in sorted(fixed, reverse=True):
        if manager % size == 0 and all(fits(size, sizes) for _, sizes in backends):
            return size
    names = " and ".join(dict.fromkeys(name for name, _ in backends))
    text = f"no kernel block size of {names} divides the block size {manager}"
    path = (*group.path, "kv_cache_spec", "block_size")
    raise Refused("ValueError", text, function="select_common_block_size", path=path, kind="no-common-block-size")
