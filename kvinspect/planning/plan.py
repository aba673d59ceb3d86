"""The plan of a document: groups, tensors, blocks, capacity (`get_kv_cache_configs`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvinspect.document.document import Document
from kvinspect.document.frozen import Frozen, frozen
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refused
from kvinspect.engine.align_answer import AnswerHeader
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.start_up_steps import stage
from kvinspect.planning import memory as limits
from kvinspect.planning import placement
from kvinspect.planning.capacity import request_cost
from kvinspect.planning.deployment import Deployment
from kvinspect.planning.grouping import Grouping, grouped, project
from kvinspect.planning.inputs import Inputs, inputs_of, registered
from kvinspect.planning.plan_answer import Capacity, PlanAnswer, PlannedGroup, Worker, Written
from kvinspect.planning.release import PlannerRelease
from kvinspect.specs.kinds import Specs


def plan_document(document: Document, release: PlannerRelease, setting: AnswerHeader) -> PlanAnswer:
    """What the release's planner makes of a document's specs and memory; a refusal of the engine's is an answer."""
    written = Written(frozen(document.source.value))
    answer = PlanAnswer(setting, release.deployment(document.model), release, written=written)
    try:
        inputs = inputs_of(document, release)
    except Refused as refused:
        return answer._replace(refusal=refused.refusal.placed(document.where))
    return plan_inputs(answer, inputs, document.where)


def plan_inputs(answer: PlanAnswer, inputs: Inputs, where: Callable[[Path], str]) -> PlanAnswer:
    """What the planner makes of specs and memory; `answer` says the deployment, `where` places what is refused."""
    release, deployment = answer.release, answer.deployment
    answer = answer._replace(inputs=inputs.frozen)
    try:
        layout = placement.layout(inputs, answer.setting.kv_cache_layout, release)
        if layout is not None:
            deployment = deployment._replace(layout=layout)
        answer = answer._replace(layout=layout, deployment=deployment)
        with stage("plan"):
            registered(inputs.specs)
            inputs = inputs._replace(specs=release.tagged(inputs.specs, deployment))
            answer = answer._replace(inputs=inputs.frozen)
            grouping = grouped(inputs.specs, deployment, release)
            answer = answer._replace(grouping=grouping._replace(specs=Frozen(grouping.specs)))
            answer = _sized(answer, inputs, grouping)
        with stage("capacity"):
            capacity = _capacity(answer)
            workers, lines = _described(answer), _log_lines(answer, capacity)
            done = answer._replace(capacity=capacity, longest_request=_longest(answer))
            done = done._replace(workers=workers, log_lines=lines)
        if deployment.jit_warmup:
            for worker in workers:
                placement.check_bound(worker.tensors, worker.groups, inputs)
        return done
    except Refused as refused:
        return answer._replace(refusal=refused.refusal.placed(where))


def _sized(answer: PlanAnswer, inputs: Inputs, grouping: Grouping) -> PlanAnswer:
    """The groups, blocks and tensors of every worker, with the length that fits where it was left to the engine."""
    release, deployment = answer.release, answer.deployment
    parts = [project(grouping.groups, worker) for worker in inputs.workers]
    planned = limits.planned_memory(parts, inputs.memory, deployment, release)
    usable = [release.usable(one, given, deployment, release) for one, given in zip(parts, planned, strict=True)]
    if deployment.auto_fit and grouping.groups:
        deployment = deployment._replace(max_model_len=limits.fitted_length(parts, usable, deployment, release))
        answer = answer._replace(deployment=deployment)
    for groups, given in zip(parts, usable, strict=True):
        if groups:
            limits.check_memory(groups, given, deployment, release)
    _all_grouped(parts, inputs.workers)
    alone = [_blocks(groups, given, deployment, release) for groups, given in zip(parts, planned, strict=True)]
    num_blocks = min(alone)
    if grouping.groups and 0 in alone:
        text = "the memory does not make one block"
        raise Refused("ZeroDivisionError", text, function="get_kv_cache_configs", kind="memory")
    workers = [
        Worker(given, own, placement.bytes_per_block(groups, deployment, release) if groups else 0, groups, tensors)
        for given, own, groups in zip(inputs.memory, alone, parts, strict=True)
        for tensors in [placement.tensors(groups, num_blocks, deployment, release)]
    ]
    return answer._replace(workers=tuple(workers), num_blocks=num_blocks)


def _all_grouped(parts: Sequence[Sequence[KVCacheGroup]], workers: Sequence[Specs]) -> None:
    """Raises Refused where a layer is in no group, as one that has no latents beside some with a window (0.28)."""
    for groups, worker in zip(parts, workers, strict=True):
        if sum(len(group.layer_names) for group in groups) != len(worker):
            text = "a layer is in no KV cache group"
            raise Refused("AssertionError", text, function="get_kv_cache_configs", kind="grouping")


def _described(answer: PlanAnswer) -> tuple[Worker, ...]:
    """The workers with the sizes of their groups; those with the same groups have the same."""
    made: dict[tuple[KVCacheGroup, ...], tuple[PlannedGroup, ...]] = {}
    for worker in answer.workers:
        if worker.groups not in made:
            made[worker.groups] = tuple(
                PlannedGroup.of(group, worker.bytes_per_block, answer) for group in worker.groups
            )
    return tuple(worker._replace(planned=made[worker.groups]) for worker in answer.workers)


def _log_lines(answer: PlanAnswer, found: Capacity | None) -> tuple[str, ...]:
    if found is None:
        return ()
    length, platform = answer.deployment.max_model_len, answer.setting.platform
    return tuple(answer.release.log_lines(found.num_tokens, length, found.max_concurrency, platform))


def _blocks(groups: Sequence[KVCacheGroup], memory: int, deployment: Deployment, release: PlannerRelease) -> int:
    return limits.num_blocks_of(groups, memory, deployment, release) if groups else 1


def _longest(answer: PlanAnswer) -> int | None:
    """The longest request that ever runs, where the longest that is taken does not."""
    return answer.release.longest(answer.workers[0].groups, answer.num_blocks or 0, answer.deployment)


def _capacity(answer: PlanAnswer) -> Capacity | None:
    """How many requests fit, from the first worker's groups as the engine's scheduler sees them."""
    worker, deployment = answer.workers[0], answer.deployment
    if not worker.groups or answer.num_blocks is None:
        return None
    concurrency = answer.release.concurrency(worker.groups, answer.num_blocks, deployment, answer.release)
    cost = request_cost(worker.groups, worker.bytes_per_block, deployment)
    smallest = min(group.first_spec.block_size for group in worker.groups)
    pool = answer.num_blocks // len(worker.groups) * smallest
    return Capacity(int(concurrency * deployment.max_model_len), concurrency, pool, cost)
