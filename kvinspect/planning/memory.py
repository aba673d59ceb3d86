"""Whether the memory of every worker is enough, and how many blocks it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.placement import bytes_per_block
from kvinspect.planning.requests import longest_fitting
from kvinspect.provenance import vllm

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease

Groups = Sequence[KVCacheGroup]

GIB = 1 << 30


def in_gib(size: int) -> str:
    """Bytes in GiB as the engine prints them (`format_gib`).

    >>> in_gib(13494669312)
    '12.57'
    """
    return f"{round(size / GIB, 2)}"


def planned_memory(
    workers: Sequence[Groups], memory: Sequence[int], deployment: Deployment, release: PlannerRelease
) -> list[int]:
    """Bytes that each worker plans with: what an override of the number of blocks takes, else what there is."""
    override = deployment.num_gpu_blocks_override
    if override is None:
        return list(memory)
    sizes = [bytes_per_block(groups, deployment, release) if groups else None for groups in workers]
    if 0 in sizes:
        raise Refused("ZeroDivisionError", "a worker has no layer", function="get_kv_cache_configs")
    return [given if size is None else override * size for given, size in zip(memory, sizes, strict=True)]


@vllm("check_enough_kv_cache_memory", until="0.28")
def all_of_it(groups: Groups, memory: int, deployment: Deployment, release: PlannerRelease) -> int:
    """Up to 0.28 the checks count every block."""
    return memory


@vllm("check_enough_kv_cache_memory", since="0.29")
def without_null_block(groups: Groups, memory: int, deployment: Deployment, release: PlannerRelease) -> int:
    """From 0.29 on the checks leave out the block that the pool holds back."""
    return memory - bytes_per_block(groups, deployment, release) if groups else memory


@vllm("_auto_fit_max_model_len")
def fitted_length(
    workers: Sequence[Groups], memory: Sequence[int], deployment: Deployment, release: PlannerRelease
) -> int:
    """The longest request that every worker can hold (`_auto_fit_max_model_len`). Raises Refused where none does."""
    lengths = [
        longest_fitting(groups, given, deployment, release)
        for groups, given in zip(workers, memory, strict=True)
        if groups
    ]
    longest = min([deployment.max_model_len, *lengths])
    if longest <= 0:
        text = "no request fits, not even of one token"
        raise Refused("ValueError", text, function="_auto_fit_max_model_len", kind="memory")
    return longest


@vllm("_check_enough_kv_cache_memory")
def check_memory(groups: Groups, memory: int, deployment: Deployment, release: PlannerRelease) -> None:
    """Raises Refused where a worker cannot hold one request of the longest length (`_check_enough_kv_cache_memory`)."""
    function = "_check_enough_kv_cache_memory"
    if memory <= 0:
        raise Refused("ValueError", "no memory is left for the KV cache", function=function, kind="memory")
    needed = release.needed_bytes(groups, deployment, release)
    if needed <= memory:
        return
    longest = longest_fitting(groups, memory, deployment, release)
    text = (
        f"one request of {counted(deployment.max_model_len, 'token', ',')} needs {in_gib(needed)} GiB of KV cache, "
        f"but only {in_gib(memory)} GiB are available"
    )
    hint = (
        f"; the longest request that fits has {counted(longest, 'token', ',')}" if longest else "; not one token fits"
    )
    raise Refused("ValueError", text + hint, function=function, kind="memory")


@vllm("get_kv_cache_config_from_groups", "may_override_num_blocks")
def num_blocks_of(groups: Groups, memory: int, deployment: Deployment, release: PlannerRelease) -> int:
    """Blocks that a worker's memory makes (`get_kv_cache_config_from_groups`), or the override."""
    size = bytes_per_block(groups, deployment, release)
    if size == 0:
        raise Refused("AssertionError", "a worker has no layer", function="get_kv_cache_config_from_groups")
    if deployment.num_gpu_blocks_override is not None:
        return deployment.num_gpu_blocks_override
    return max(memory // size, 0)
