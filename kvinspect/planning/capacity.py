"""How many requests fit at once, and what one costs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.planning.deployment import Deployment
from kvinspect.provenance import vllm

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease


class RequestCost(NamedTuple):
    """What a request costs on one worker: `fixed_bytes` however long it is, and `bytes_per_token` for each token.

    A window counts as fixed, as it does once a request is longer than it; `blocks` are those of a request of the
    longest length, of all groups together.
    """

    fixed_bytes: int
    bytes_per_token: float
    blocks: int


@vllm("get_max_concurrency_for_kv_cache_config", since="0.27")
def concurrency_by_blocks(
    groups: Sequence[KVCacheGroup], num_blocks: int, deployment: Deployment, release: PlannerRelease
) -> float:
    """From 0.27 on: blocks of the pool to the blocks of all groups that one request holds."""
    return _ratio(num_blocks, sum(group.spec.request_blocks(deployment) for group in groups))


@vllm("get_max_concurrency_for_kv_cache_config", until="0.26")
def concurrency_by_memory(
    groups: Sequence[KVCacheGroup], num_blocks: int, deployment: Deployment, release: PlannerRelease
) -> float:
    """0.25 and 0.26: a request's bytes of every group to the bytes of the first group's page."""
    page = release.page(groups[0].spec)
    if page == 0:
        text = "the first group's page has no bytes"
        raise Refused("ZeroDivisionError", text, function="get_max_concurrency_for_kv_cache_config")
    layers = max(len(group.layer_names) for group in groups)
    pages = [release.page(group.spec) for group in groups]
    needed = sum(group.spec.request_blocks(deployment) * size for group, size in zip(groups, pages, strict=True))
    return _ratio(num_blocks, -(-layers * needed // (page * layers)) if layers else 0)


def _ratio(num_blocks: int, per_request: int) -> float:
    if per_request == 0:
        raise Refused(
            "ZeroDivisionError", "a request needs no block", function="get_max_concurrency_for_kv_cache_config"
        )
    return num_blocks / per_request


@vllm("BlockPool.__init__", until="0.28")
def beside_the_null_block(groups: Sequence[KVCacheGroup], num_blocks: int, deployment: Deployment) -> int | None:
    """The longest request that ever runs (0.25 to 0.28), None where all do.

    One block of the pool is the null block, which the check of the memory counts and no request gets.
    """

    def runs(length: int) -> bool:
        of_length = deployment._replace(max_model_len=length)
        return sum(group.spec.request_blocks(of_length) for group in groups) < num_blocks

    if not groups or runs(deployment.max_model_len):
        return None
    return bisect_left(range(1, deployment.max_model_len), True, key=lambda length: not runs(length))


@vllm("check_enough_kv_cache_memory", since="0.29")
def all_run(groups: Sequence[KVCacheGroup], num_blocks: int, deployment: Deployment) -> int | None:
    """The memory is checked without the null block (0.29 on)."""
    return None


def request_cost(groups: Sequence[KVCacheGroup], block_bytes: int, deployment: Deployment) -> RequestCost:
    """The cost of a request, block by block of the pool."""
    fixed, per_token, blocks = 0, 0.0, 0
    for group in groups:
        held = group.spec.request_blocks(deployment)
        blocks += held
        if group.spec.grows(deployment):
            per_token += block_bytes / (group.first_spec.block_size * group.spec.shards(deployment))
        else:
            fixed += held * block_bytes
    return RequestCost(fixed, per_token, blocks)
