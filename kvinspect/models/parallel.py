"""What one rank holds: heads under tensor parallelism, layers under pipeline parallelism."""

from __future__ import annotations

from typing import NamedTuple

from kvinspect.document.numbers import counted


class Uneven(Exception):
    """Heads that cannot be shared out to the ranks; the engine stops at this."""


class Heads(NamedTuple):
    """Query and KV heads of one rank."""

    query: int
    kv: int


def heads(num_heads: int, num_kv_heads: int, ranks: int, repeated: bool = True) -> Heads:
    """The heads of one rank (`QKVParallelLinear`): KV heads are divided, or repeated where they are fewer.

    Raises Uneven where query heads cannot be divided, or KV heads neither divided nor, if they are `repeated`, repeated
    evenly.

    >>> heads(32, 8, 4), heads(32, 8, 16)
    (Heads(query=8, kv=2), Heads(query=2, kv=1))
    """
    if num_heads % ranks:
        raise Uneven(f"{counted(num_heads, 'attention head')} cannot be divided among {counted(ranks, 'rank')}")
    if num_kv_heads % ranks and not (repeated and ranks % num_kv_heads == 0):
        how = "can neither be divided among {} nor repeated evenly" if repeated else "cannot be divided among {}"
        raise Uneven(f"{counted(num_kv_heads, 'KV head')} {how.format(counted(ranks, 'rank'))}")
    found = Heads(num_heads // ranks, max(1, num_kv_heads // ranks))
    if found.query % found.kv:
        each = counted(found.query, "query head")
        raise Uneven(f"a rank has {each}, no multiple of its {counted(found.kv, 'KV head')}")
    return found


MAX_PARTITION = 10_000
"""Characters of a partition that are read."""


def stage_layers(layers: int, stage: int, stages: int, partition: str | None = None) -> range:
    """The layers of one pipeline stage (`get_pp_indices`): what is left over goes to the stages before the last.

    `partition` is VLLM_PP_LAYER_PARTITION. Raises ValueError where it is none of these layers.

    >>> [len(stage_layers(10, stage, 4)) for stage in range(4)]
    [2, 3, 3, 2]
    >>> stage_layers(10, 1, 2, "7,3")
    range(7, 10)
    """
    if partition is not None:
        sizes = [int(size) if size.strip().isdecimal() else -1 for size in partition[:MAX_PARTITION].split(",")]
        if len(sizes) != stages or sum(sizes) != layers or min(sizes) < 0:
            raise ValueError(f"it does not cut {layers} layers into {stages} stages")
    else:
        share, left = divmod(layers, stages)
        sizes = [share + (stages - 1 - left <= i < stages - 1) for i in range(stages)]
    start = sum(sizes[:stage])
    return range(start, start + sizes[stage])
