"""One backing allocation for all layers, as 0.29 and later plan it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvinspect.document.document import Tensor
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout import placement
from kvinspect.engine.layout.latent_index import place_with_index
from kvinspect.engine.layout.resolve import Choice, resolve
from kvinspect.planning.deployment import Deployment

if TYPE_CHECKING:
    from kvinspect.planning.inputs import Inputs
    from kvinspect.planning.release import PlannerRelease

Groups = Sequence[KVCacheGroup]


def no_layout(inputs: Inputs, requested: str | None, release: PlannerRelease) -> Choice | None:
    """Up to 0.28 the planner knows no layout."""
    return None


def layout_of_backends(inputs: Inputs, requested: str | None, release: PlannerRelease) -> Choice | None:
    """0.29 and 0.30: what the backends read and the pages need, or what is asked for."""
    return resolve(_declared(inputs), inputs.specs.values(), requested, release.unpadded, by_sharding=False)


def layout_of_backends_and_sharding(inputs: Inputs, requested: str | None, release: PlannerRelease) -> Choice | None:
    """0.33: decode context parallelism has a say as well."""
    return resolve(_declared(inputs), inputs.specs.values(), requested, release.unpadded, by_sharding=True)


def _declared(inputs: Inputs) -> dict[str, Sequence[str] | None]:
    used = {backend.name: backend for backend in inputs.backends.values()}
    return {name: backend.layouts for name, backend in used.items() if not backend.is_ssm}


def bytes_by_page(groups: Groups, deployment: Deployment, release: PlannerRelease) -> int:
    """0.29 and 0.30: bytes of a block of the largest group, in pages. Raises Refused."""
    return placement.bytes_per_block(groups, _room(deployment, release, 1, aligned=False))


def bytes_by_stride(groups: Groups, deployment: Deployment, release: PlannerRelease) -> int:
    """0.33: with the alignment that backends ask for; a layout that cannot express the pages is refused here."""
    room = _room(deployment, release, 1, aligned=True)
    placement.place(groups, room)
    return placement.bytes_per_block(groups, room)


def tensors_by_page(
    groups: Groups, num_blocks: int, deployment: Deployment, release: PlannerRelease
) -> tuple[Tensor, ...]:
    """0.29: runs of layers alike, counted in pages. Raises Refused."""
    return placement.place(groups, _room(deployment, release, num_blocks, aligned=False))


def tensors_with_index(
    groups: Groups, num_blocks: int, deployment: Deployment, release: PlannerRelease
) -> tuple[Tensor, ...]:
    """0.30: the pages of a latent index in regions of their own. Raises Refused."""
    room = _room(deployment, release, num_blocks, aligned=False)
    return place_with_index(groups, room) or placement.place(groups, room)


def tensors_by_stride(
    groups: Groups, num_blocks: int, deployment: Deployment, release: PlannerRelease
) -> tuple[Tensor, ...]:
    """0.33: with the alignment that backends ask for. Raises Refused."""
    return placement.place(groups, _room(deployment, release, num_blocks, aligned=True))


def _room(deployment: Deployment, release: PlannerRelease, num_blocks: int, aligned: bool) -> placement.Room:
    assert deployment.layout is not None
    return placement.Room(num_blocks, deployment.layout, release.unpadded, aligned)
