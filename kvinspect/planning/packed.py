"""Groups of layers whose pages differ, packed side by side in each block (`_get_packed_kv_cache_groups`, 0.29 on)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from kvinspect.document.refusal import Refused
from kvinspect.planning.bucket import Bucket
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.latent_windows import least_padding
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec, Specs
from kvinspect.specs.uniform_type import UniformTypeSpecs

if TYPE_CHECKING:
    from kvinspect.planning.release import PlannerRelease


@vllm("_get_kv_cache_groups_uniform_groups", until="0.28")
@vllm("_get_packed_kv_cache_groups", since="0.29", until="0.29")
def states_alone(bucket: Bucket, repeats: int | None) -> bool:
    """0.29: states only."""
    return bucket.first.holds_states


@vllm("_get_packed_kv_cache_groups", since="0.30")
def states_and_windows(bucket: Bucket, repeats: int | None) -> bool:
    """From 0.30 on rings, and windows where no pattern of pages says how they are split."""
    return bucket.first.holds_states or bucket.first.rings or (repeats is None and bucket.first.windowed)


@vllm("_get_packed_kv_cache_groups", since="0.29")
def packed_groups(specs: Specs, deployment: Deployment, release: PlannerRelease) -> list[UniformTypeSpecs] | None:
    """The groups, None where blocks are not outermost or all pages alike. Raises Refused where layers fall out."""
    pages = {release.page(spec) for spec in specs.values()}
    if deployment.layout is None or not deployment.layout.standard.block_outermost or len(pages) <= 1:
        return None
    buckets = _buckets(specs, release)
    repeats = _repeats(buckets)

    def fixed(bucket: Bucket) -> int:
        return -(-bucket.repeats // repeats) if bucket.balanced and repeats is not None else 1

    def freely(bucket: Bucket) -> bool:
        return release.splits_freely(bucket, repeats)

    room = max((b.widest(len(b.specs.specs) if freely(b) else fixed(b)) for b in buckets), default=0)
    found = [group for bucket in buckets for group in _split(bucket, _count(bucket, fixed, freely, room, release))]
    if sum(len(group.specs) for group in found) < len(specs):
        text = "layers whose pages come in different numbers fall out of the groups"
        raise Refused("AssertionError", text, function="_get_packed_kv_cache_groups")
    return found


def _buckets(specs: Specs, release: PlannerRelease) -> list[Bucket]:
    """Each layer with the first bucket whose first layer needs the same number of slots."""
    found: list[dict[str, LayerSpec]] = []
    for layer, spec in specs.items():
        home = next((bucket for bucket in found if next(iter(bucket.values())).same_slots(spec, release)), None)
        if home is None:
            home = {}
            found.append(home)
        home[layer] = spec
    return [_bucket(one, release) for one in found]


def _bucket(specs: Specs, release: PlannerRelease) -> Bucket:
    by_page: dict[int, list[str]] = {}
    for layer, spec in specs.items():
        by_page.setdefault(release.page(spec), []).append(layer)
    return Bucket(UniformTypeSpecs(next(iter(specs.values())).block_size, tuple(specs.items())), by_page)


def _repeats(buckets: Sequence[Bucket]) -> int | None:
    """Repeats of the pattern in each group, so that least is padded; None where no pattern mixes pages."""
    least = max((b.repeats for b in buckets if b.balanced and len(b.by_page) > 1), default=0)
    return least_padding([b.repeats for b in buckets if b.balanced], least) if least else None


def _count(
    bucket: Bucket, fixed: Callable[[Bucket], int], freely: Callable[[Bucket], bool], room: int, release: PlannerRelease
) -> int:
    """Groups of a bucket: as many as its pattern asks for, and where it splits freely as the block has room for."""
    if not (room and freely(bucket)):
        return fixed(bucket)
    states = max(room // release.page(bucket.first), 1)
    return max(fixed(bucket), -(-len(bucket.specs.specs) // states))


def _split(bucket: Bucket, count: int) -> list[UniformTypeSpecs]:
    """A bucket's repeats dealt out in turn. Raises Refused where there are fewer of them than groups."""
    if count == 1:
        return [bucket.specs]
    by_layer = bucket.specs.by_layer
    pattern = list(zip(*bucket.by_page.values(), strict=False))
    groups = [[layer for repeat in pattern[i::count] for layer in repeat] for i in range(count)]
    if not all(groups):
        text = "pages that come in different numbers leave a group without layers"
        raise Refused("StopIteration", text, function="is_uniform_type")
    return [
        UniformTypeSpecs(bucket.specs.block_size, tuple((layer, by_layer[layer]) for layer in layers))
        for layers in groups
    ]
