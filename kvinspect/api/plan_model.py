"""`kvinspect.plan_model`: from a model's config.json and engine arguments to the plan."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.api.specs import load_model, specs
from kvinspect.api.plan import plan
from kvinspect.models.memory import DEFAULT_UTILISATION, Memory, estimated, parse_size
from kvinspect.models.sweep import Axis, SweepAnswer, point_of, points
from kvinspect.models.weights import Weights, weights_of
from kvinspect.planning.answer import PlanAnswer

if TYPE_CHECKING:
    from kvinspect.models.config import Model
    from kvinspect.models.answer import SpecsAnswer

Progress = Callable[[int, int], None]


class NoMemory(ValueError):
    """Nobody said how much memory there is for the cache."""


class ModelPlan(NamedTuple):
    """What the engine makes of a model: the specs of its layers, the memory for them, and the plan."""

    specs: SpecsAnswer
    memory: Memory
    plan: PlanAnswer

    @property
    def clean(self) -> bool:
        """Whether the engine would start."""
        return self.plan.clean

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON, with the memory's origin and the specs."""
        found = self.specs.to_dict()
        return {**self.plan.to_dict(), "memory": self.memory._asdict(), "specs": found}


def plan_model(
    model: Model | str | pathlib.Path | Mapping[str, Any],
    memory: Memory | int,
    *,
    engine: str | None = None,
    platform: str = "cuda",
    device_capability: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
) -> ModelPlan:
    """The plan of a model under engine arguments named as vLLM's, with `memory` bytes for the cache of each worker.

    Raises DocumentError where the config.json or an argument cannot be used, or the architecture is not known.
    """
    memory = Memory(memory, "given") if isinstance(memory, int) else memory
    found = specs(
        model, engine=engine, platform=platform, device_capability=device_capability, engine_args=engine_args or {}
    )
    stages = int(found.arguments.pipeline_parallel_size)
    document = found.to_planning_document(available_memory=[memory.size] * stages)
    return ModelPlan(found, memory, plan(document))


class Budget(NamedTuple):
    """What a call says about memory; sizes as people write them, None where it says nothing."""

    available: str | None = None
    gpu: str | None = None
    weights: str | None = None


def memory_of(budget: Budget, arguments: Mapping[str, Any], folder: pathlib.Path | None) -> Memory:
    """Bytes for the cache of one worker. Raises NoMemory where nothing says how much, ValueError for no size."""
    exact = budget.available or arguments.get("kv_cache_memory_bytes")
    if exact is not None:
        return Memory(parse_size(str(exact)), "given")
    if budget.gpu is not None:
        return _estimate(budget, arguments, folder)
    if arguments.get("num_gpu_blocks_override") is not None:
        return Memory(0, "not asked for: the number of blocks is given")
    raise NoMemory(
        "how much memory is there for the cache? Give --available-kv-cache-memory 12.57GiB (the start-up log says it), "
        "--kv-cache-memory-bytes, or --gpu-memory 80GiB for an estimate"
    )


def _estimate(budget: Budget, arguments: Mapping[str, Any], folder: pathlib.Path | None) -> Memory:
    assert budget.gpu is not None
    if budget.weights is not None:
        weights: Weights | None = Weights(parse_size(budget.weights), "as given")
    else:
        weights = weights_of(folder) if folder else None
    if weights is None:
        raise NoMemory("an estimate needs the weights: give --weights 140GiB, or a folder with safetensors files")
    ranks = int(arguments.get("tensor_parallel_size") or 1) * int(arguments.get("pipeline_parallel_size") or 1)
    share = float(arguments.get("gpu_memory_utilization") or DEFAULT_UTILISATION)
    return estimated(parse_size(budget.gpu), share, weights, ranks)


def sweep(
    model: Model | str | pathlib.Path | Mapping[str, Any],
    axes: Sequence[Axis],
    memory: Callable[[Mapping[str, Any]], Memory],
    *,
    engine: str | None = None,
    platform: str = "cuda",
    device_capability: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> SweepAnswer:
    """The plans of a model at every combination of the axes' values; `memory` says what each set of arguments has.

    Raises DocumentError as `plan_model`, ValueError for too many points.
    """
    loaded = load_model(model)
    found, wanted = [], points(axes)
    answer = None
    for done, values in enumerate(wanted):
        arguments = {**(engine_args or {}), **values}
        answer = plan_model(
            loaded,
            memory(arguments),
            engine=engine,
            platform=platform,
            device_capability=device_capability,
            engine_args=arguments,
        )
        found.append(point_of(values, answer.plan))
        if progress:
            progress(done + 1, len(wanted))
    assert answer is not None
    return SweepAnswer(answer.plan.setting, answer.memory.how, tuple(axes), tuple(found))
