"""What a request of the longest length holds: blocks, bytes, and the longest length that fits.

Sizes in blocks and bytes, lengths in tokens. The engine's `max_memory_usage_bytes` of a spec is blocks times page.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.refusal import Refused
from kvinspect.engine.specs import FULL, GroupSpec, LayerSpec, MambaSpec, UniformTypeSpecs
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.latents import layer_tuples

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease


def request_blocks(spec: GroupSpec, deployment: Deployment) -> int:
    """Blocks of a layer that the longest request holds. Raises Refused where ranks cannot share a window."""
    if isinstance(spec, UniformTypeSpecs):
        return max(request_blocks(inner, deployment) for inner in {inner for _, inner in spec.specs})
    if isinstance(spec, MambaSpec):
        return _state_blocks(spec, deployment)
    if spec.kind in FULL:
        shards = deployment.context_shards if spec.dcp_sharded else 1
        return _cdiv(_cdiv(deployment.max_model_len, shards), spec.block_size)
    if spec.kind == "cross_attention":
        return _cdiv(deployment.max_num_encoder_input_tokens, spec.block_size)
    if spec.kind == "encoder_only_attention":
        return 0
    if spec.kind == "chunked_local_attention":
        held = (spec.attention_chunk_size or 0) + deployment.max_in_flight_tokens
        return _cdiv(min(held, deployment.max_model_len), spec.block_size)
    return _window_blocks(spec, deployment)


def _window_blocks(spec: LayerSpec, deployment: Deployment) -> int:
    """`SlidingWindowSpec`: the window and what is in flight, and a block more since a window begins anywhere."""
    assert not isinstance(spec, MambaSpec)
    if deployment.decode_shards > 1 and spec.dcp_sharded:
        text = "layers with a sliding window cannot spread their tokens over decode ranks"
        raise Refused("AssertionError", text, function="max_memory_usage_bytes", kind="window-and-dcp")
    held = (spec.sliding_window or 0) - 1 + spec.extra_retained_tokens + deployment.max_in_flight_tokens
    return _cdiv(min(held, deployment.max_model_len), spec.block_size) + 1


def _state_blocks(spec: MambaSpec, deployment: Deployment) -> int:
    if deployment.mamba_cache_mode == "all":
        return _cdiv(deployment.max_model_len, spec.block_size) + spec.num_speculative_blocks
    if deployment.mamba_cache_mode == "align":
        checkpoints: int = dict(spec.marks).get("num_prefill_checkpoint_blocks", 0)
        return 2 + spec.num_speculative_blocks + checkpoints
    return 1 + spec.num_speculative_blocks


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


def needed_by_group(groups: Sequence[KVCacheGroup], deployment: Deployment, release: PlannerRelease) -> int:
    """Up to 0.28: bytes that one request of the longest length needs (`_max_memory_usage_bytes_from_groups`)."""
    typed = [group.spec for group in groups if isinstance(group.spec, UniformTypeSpecs)]
    if len(groups) == 1 and typed:
        return sum(request_blocks(spec, deployment) * release.page(spec) for _, spec in typed[0].specs)
    if len(typed) == len(groups):
        return _packed_bytes(typed, deployment, release)
    blocks = sum(request_blocks(group.spec, deployment) for group in groups)
    return blocks * release.page(groups[0].first_spec) * max(len(group.layer_names) for group in groups)


def _packed_bytes(specs: Sequence[UniformTypeSpecs], deployment: Deployment, release: PlannerRelease) -> int:
    """Every group reserves as many slots as the largest, each of the first group's pages."""
    slot = sum({release.page(spec) for _, spec in specs[0].specs})
    slots = max(layer_tuples(spec, release) for spec in specs)
    return slots * slot * sum(request_blocks(spec, deployment) for spec in specs)


def needed_by_block(groups: Sequence[KVCacheGroup], deployment: Deployment, release: PlannerRelease) -> int:
    """From 0.29 on: blocks of all groups together, each as large as the largest group's."""
    blocks = sum(request_blocks(group.spec, deployment) for group in groups)
    return blocks * release.bytes_per_block(groups, deployment, release) if groups else 0


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
