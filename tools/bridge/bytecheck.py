"""Brute force over bytes, independent of vLLM: which block of the block manager does each byte belong to?

A view is a dictionary of what torch reports (`storage_offset`, `shape`, `stride`, `itemsize`, in elements but for the
last), its `layer`, the dimension of its blocks `block_dim`, and `ratio`, the kernel blocks to a block of the manager.
"""

import numpy as np

LIMIT = 1 << 27
"""Bytes of an allocation; of larger ones nothing is said."""


class TooLarge(Exception):
    """An allocation that is not enumerated."""


def claims(views, size, num_blocks):
    """Layer → (lowest, highest) block that touches each byte, -1 where none does; a layer may have several views."""
    if size > LIMIT:
        raise TooLarge(size)
    found = {}
    for view in views:
        mine = claim(view, size, num_blocks)
        found[view["layer"]] = merged(found[view["layer"]], mine) if view["layer"] in found else mine
    return found


def claim(view, size, num_blocks):
    """(lowest, highest) block that one view touches each byte with."""
    low, high = np.full(size, -1, dtype=np.int32), np.full(size, -1, dtype=np.int32)
    dim, within = view["block_dim"], within_block(view)
    for kernel_block in range(view["shape"][dim]):
        block = kernel_block // view["ratio"]
        if block >= num_blocks:
            break
        first = (view["storage_offset"] + kernel_block * view["stride"][dim]) * view["itemsize"]
        touched = first + within
        old = low[touched]
        low[touched] = np.where(old < 0, block, np.minimum(old, block))
        high[touched] = np.maximum(high[touched], block)
    return low, high


def within_block(view):
    """Offsets of the bytes of one kernel block from its first."""
    inner = np.zeros(1, dtype=np.int64)
    for d, (length, stride) in enumerate(zip(view["shape"], view["stride"], strict=True)):
        if d != view["block_dim"]:
            inner = (inner[:, None] + np.arange(length, dtype=np.int64) * stride).reshape(-1)
    return (inner[:, None] * view["itemsize"] + np.arange(view["itemsize"], dtype=np.int64)).reshape(-1)


def merged(one, other):
    """The claims of two views of a layer together."""
    low = np.where(one[0] < 0, other[0], np.where(other[0] < 0, one[0], np.minimum(one[0], other[0])))
    return low, np.maximum(one[1], other[1])


def first_conflict(claimed, mine):
    """The lowest byte that different blocks claim, of two layers or of one, which is in `mine`; None where none is."""
    names, best = list(claimed), None
    for x, a in enumerate(names):
        for b in names[x:]:
            if a in mine or b in mine:
                found = conflict(a, b, claimed[a], claimed[b])
                if found and (best is None or found["byte"] < best["byte"]):
                    best = found
    return best


def conflict(a, b, first, second):
    """The lowest byte that two layers clash in."""
    both = (first[0] >= 0) & (second[0] >= 0)
    where = np.flatnonzero(both & ((first[0] != second[1]) | (first[1] != second[0])))
    if not where.size:
        return None
    at = int(where[0])
    i, j = int(first[0][at]), int(second[1][at])
    if i == j:
        i, j = int(first[1][at]), int(second[0][at])
    return {"layers": [a, b], "block_ids": [i, j], "byte": at, "conflicting_bytes": int(where.size)}
