"""What the planner asks of the placement that it has in common with the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvinspect.document.document import Tensor
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.layout.layouts import Layout
from kvinspect.engine.one_buffer import check_bound_layers, check_workers
from kvinspect.engine.placement import Space
from kvinspect.engine.start_up_steps import stage
from kvinspect.planning.deployment import Deployment
from kvinspect.specs.kinds import Specs

if TYPE_CHECKING:
    from kvinspect.backends.backend import Backend
    from kvinspect.planning.inputs import Inputs
    from kvinspect.planning.release import PlannerRelease

Groups = Sequence[KVCacheGroup]


def layout(inputs: Inputs, asked: str | None, release: PlannerRelease) -> Layout | None:
    """Return the layout in force, None where the release's planner knows none. Raises Refused."""
    if not release.one_buffer:
        return None
    used = {backend.name: backend for backend in inputs.backends.values()}
    with stage("layout"):
        check_workers([_backends(worker, inputs) for worker in inputs.workers])
        return release.layout(list(used.values()), inputs.specs.values(), asked, release)


def _backends(worker: Specs, inputs: Inputs) -> list[Backend]:
    return [inputs.backends[layer] for layer in worker if layer in inputs.backends]


def bytes_per_block(groups: Groups, deployment: Deployment, release: PlannerRelease) -> int:
    """Return the bytes of one block through all layers of a worker. Raises Refused."""
    return release.bytes_per_block(groups, _space(deployment, release, 1))


def tensors(groups: Groups, num_blocks: int, deployment: Deployment, release: PlannerRelease) -> tuple[Tensor, ...]:
    """Return the allocations of a worker. Raises Refused."""
    return release.place(groups, _space(deployment, release, num_blocks))


def check_bound(tensors: Sequence[Tensor], groups: Groups, inputs: Inputs) -> None:
    """Nothing where every layer of a worker can be bound to its part of the cache. Raises Refused."""
    check_bound_layers(tensors, groups, inputs.backends)


def _space(deployment: Deployment, release: PlannerRelease, num_blocks: int) -> Space:
    return release.space(num_blocks, deployment.layout, deployment.cross_layers)
