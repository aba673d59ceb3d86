"""What a request of the longest length holds in bytes, and the longest length that fits.

Sizes in blocks and bytes, lengths in tokens. The engine's `max_memory_usage_bytes` of a spec is blocks times
page; how many blocks each kind holds is said in `specs/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvinspect.engine.groups import KVCacheGroup
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.latent_windows import layer_tuples
from kvinspect.planning.placement import bytes_per_block
from kvinspect.provenance import vllm
from kvinspect.specs.uniform_type import UniformTypeSpecs

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease


@vllm("_max_memory_usage_bytes_from_groups", until="0.28")
def needed_by_group(groups: Sequence[KVCacheGroup], deployment: Deployment, release: PlannerRelease) -> int:
    """Up to 0.28: bytes that one request of the longest length needs (`_max_memory_usage_bytes_from_groups`)."""
    typed = [group.spec for group in groups if group.spec.each_its_own]
    if len(groups) == 1 and typed:
        return sum(spec.request_blocks(deployment) * release.page(spec) for _, spec in typed[0].specs)
    if len(typed) == len(groups):
        return _packed_bytes(typed, deployment, release)
    blocks = sum(group.spec.request_blocks(deployment) for group in groups)
    return blocks * release.page(groups[0].first_spec) * max(len(group.layer_names) for group in groups)


def _packed_bytes(specs: Sequence[UniformTypeSpecs], deployment: Deployment, release: PlannerRelease) -> int:
    """Every group reserves as many slots as the largest, each of the first group's pages."""
    slot = sum({release.page(spec) for _, spec in specs[0].specs})
    slots = max(layer_tuples(spec, release) for spec in specs)
    return slots * slot * sum(spec.request_blocks(deployment) for spec in specs)


@vllm("_max_memory_usage_bytes_from_groups", since="0.29")
def needed_by_block(groups: Sequence[KVCacheGroup], deployment: Deployment, release: PlannerRelease) -> int:
    """From 0.29 on: blocks of all groups together, each as large as the largest group's."""
    blocks = sum(group.spec.request_blocks(deployment) for group in groups)
    return blocks * bytes_per_block(groups, deployment, release) if groups else 0


def longest_fitting(
    groups: Sequence[KVCacheGroup], memory: int, deployment: Deployment, release: PlannerRelease
) -> int:
    """The longest request in tokens that fits, at most the longest that is asked for; 0 where not one token does."""

    def fits(length: int) -> bool:
        return release.needed_bytes(groups, deployment._replace(max_model_len=length), release) <= memory

    if not fits(1):
        return 0
    low, high = 1, deployment.max_model_len
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low
