"""`kvinspect.plan_model`: from a model's config.json and engine arguments to the plan."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from kvinspect.api.asking import load, release_of
from kvinspect.api.connected import Connected, connected
from kvinspect.api.plan import plan
from kvinspect.api.specs import load_model, specs
from kvinspect.connectors.offloading import Offloaded
from kvinspect.connectors.transfer import transfer_of
from kvinspect.document.checked import checked
from kvinspect.document.numbers import counted
from kvinspect.document.problem import DocumentError
from kvinspect.hardware.gpus import Gpus
from kvinspect.models.answer import SpecsAnswer, as_served, scheduler_defaults
from kvinspect.models.arguments import argument, engine_arguments
from kvinspect.models.config import Model
from kvinspect.models.duties import environment, not_modelled
from kvinspect.models.memory import DEFAULT_UTILISATION, Memory, estimated, parse_memory, parse_size, parse_utilisation
from kvinspect.models.stages import planning_document
from kvinspect.models.weights import Weights, weights_of
from kvinspect.planning.answer import BackendChoice, ModelOrigin, NotModelled, PlanAnswer
from kvinspect.planning.axes import Axis, points
from kvinspect.planning.prefixes import PrefixBlocks
from kvinspect.planning.sweep import Point, SweepAnswer, impossible, point_of
from kvinspect.releases import lookup

Progress = Callable[[int, int], None]


RANKS = ("tensor_parallel_size", "pipeline_parallel_size")
"""Arguments among whose ranks weights are divided."""


class NoMemory(ValueError):
    """Nobody said how much memory there is for the cache."""


class ModelPlan(NamedTuple):
    """What the engine makes of a model: the specs of each pipeline stage, the memory for them, and the plan."""

    stages: tuple[SpecsAnswer, ...]
    memory: Memory
    plan: PlanAnswer
    source: str = ""
    """Where the config.json is from, where it is no file that was named."""
    prefixes: PrefixBlocks | None = None
    """The blocks by which prefixes are found again, None where they are not."""
    offloaded: Offloaded | None = None
    """What the memory of the host holds, None where nothing is offloaded."""
    ends: tuple[PlanAnswer, PlanAnswer] | None = None
    """The plans at both ends of an estimate's band."""

    @property
    def fit(self) -> str:
        """`fits`, `tight` or `does not fit`, of an estimate with a band; empty where the memory is given."""
        if self.ends is None:
            return ""
        low, high = self.ends
        return "fits" if low.clean else "tight" if high.clean else "does not fit"

    @property
    def requests(self) -> tuple[float, float] | None:
        """Requests of the greatest length at once, at both ends of the band; None where not even one fits."""
        if self.ends is None or self.ends[1].capacity is None:
            return None
        low, _high = self.ends
        return (low.capacity.max_concurrency if low.capacity else 0.0, self.ends[1].capacity.max_concurrency)

    @property
    def clean(self) -> bool:
        """Whether the engine would start."""
        return self.plan.clean

    @property
    def origin(self) -> ModelOrigin:
        """The model in a few words, and why its layers have the backends that they have."""
        setting = self.stages[0].setting
        arguments = setting.arguments
        sizes = {
            "TP": arguments.tensor_parallel_size,
            "PP": arguments.pipeline_parallel_size,
            "DCP": arguments.decode_context_parallel_size,
        }
        ranks = [f"{name} {size}" for name, size in sizes.items() if size > 1]
        seen = dict.fromkeys(layer.backend for stage in self.stages for layer in stage.layers)
        backends = [
            BackendChoice(one.backend, one.why, tuple((other.backend, other.reasons) for other in one.passed_over))
            for one in seen
        ]
        batched, seqs = scheduler_defaults(setting)
        batch = f"batches of {counted(batched, 'token', ',')} and {counted(seqs, 'sequence', ',')}"
        facts = (setting.architecture.name, setting.dtype, f"cache {setting.cache_dtype}", *ranks, batch)
        steps = dict.fromkeys(step for stage in self.stages for step in stage.specs.blocks.steps)
        steps.update(dict.fromkeys(self._notes()))
        return ModelOrigin(facts, self.memory.how, tuple(backends), tuple(steps), self.source, self._verdict())

    def _verdict(self) -> str:
        """Whether the longest request fits, in words."""
        if not self.fit:
            return ""
        tokens = counted(self.plan.deployment.max_model_len, "token", ",")
        if self.requests is None:
            return f"{self.fit}: not one request of {tokens}, by the estimate"
        low, high = self.requests
        return f"{self.fit}: {low:.1f} to {high:.1f} requests of {tokens} at once, by the estimate"

    def _notes(self) -> Iterator[str]:
        """What follows for prefixes and offloading, in sentences."""
        prefixes, kept = self.prefixes, self.offloaded
        if prefixes is not None and prefixes.hits > max(prefixes.groups, default=prefixes.hits):
            size = counted(prefixes.hits, "token", ",")
            yield f"prefixes are found again in steps of {size}, so a prompt that is not longer never hits"
        if kept is not None:
            yield f"{kept.connector} holds {counted(kept.blocks, 'block', ',')} in the memory of the host"

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON, with the memory's origin and the specs."""
        found = [stage.to_dict() for stage in self.stages]
        more = {
            "prefix_caching": self.prefixes.to_dict() if self.prefixes else None,
            "offloading": self.offloaded.to_dict() if self.offloaded else None,
        }
        source = {"model_source": self.source} if self.source else {}
        if self.fit:
            source.update(fit=self.fit)
        return {**self.plan.to_dict(), **source, **more, "memory": self.memory.to_dict(), "stages": found}


@checked
def plan_model(
    model: Model | str | pathlib.Path | Mapping[str, Any],
    memory: Memory | int,
    *,
    engine: str | None = None,
    platform: str = "cuda",
    device_capability: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
) -> ModelPlan:
    """The plan of a model under engine arguments named as vLLM's, with `memory` bytes for the cache of each worker.

    `env` is vLLM's environment variables; those of this process are not read. Batches are those that `vllm serve` takes
    where the arguments do not say; Python's `LLM` takes larger ones.

    Raises DocumentError where the config.json or an argument cannot be used, or the architecture is not known.
    """
    memory = Memory(memory, "given") if isinstance(memory, int) else memory
    loaded = model if isinstance(model, Model) else load_model(model)
    written = engine_args if isinstance(engine_args, Mapping) else {}
    loaded = loaded.overridden(argument(written, "hf_overrides"))
    arguments = engine_arguments(engine_args)
    version = lookup.number(release_of(engine)[1].version)
    variables = environment(env or {}, version)
    transfer = transfer_of(written, variables, version)
    arguments = replace(
        arguments, kv_connector=transfer.name if transfer else None, env=tuple(sorted(variables.items()))
    )
    stages = tuple(
        as_served(
            specs(
                loaded,
                engine=engine,
                platform=platform,
                device_capability=device_capability,
                engine_args=arguments,
                stage=stage,
            ),
            memory.gpu,
            memory.gpu_name,
        )
        for stage in range(arguments.pipeline_parallel_size)
    )

    def at(size: int) -> Connected:
        return connected(
            planning_document(stages, size, written, transfer),
            lambda document: plan(load(document, loaded.name)),
            transfer,
            stages,
        )

    whole = at(memory.size)
    found = whole.plan
    ends = (at(memory.band.low).plan, at(memory.band.high).plan) if memory.band else None
    # The document in between names the release that was chosen before it.
    setting = found.setting._replace(engine_source=lookup.chosen(engine, None)[2])
    left_out = not_modelled(written, variables, version, memory.how != "given")
    drafts = dict.fromkeys(stage.specs.left_out for stage in stages if stage.specs.left_out)
    noted = (*(NotModelled("--speculative-config", what, True) for what in drafts), *left_out)
    found = found._replace(setting=setting, not_modelled=noted)
    return ModelPlan(stages, memory, found, prefixes=whole.prefixes, offloaded=whole.offloaded, ends=ends)


class Budget(NamedTuple):
    """What a call says about memory; sizes as people write them, None where it says nothing."""

    available: str | None = None
    gpu: str | None = None
    weights: str | None = None
    gpus: Gpus | None = None

    @property
    def size(self) -> int | None:
        """Bytes of a GPU: those that are given, else those of the GPU that is named."""
        if self.gpu is not None:
            return parse_memory(self.gpu)
        return None if self.gpus is None else self.gpus.gpu.memory

    @property
    def name(self) -> str:
        """The name of the GPU, empty where none is given."""
        return "" if self.gpus is None else self.gpus.gpu.name


class Question(NamedTuple):
    """A model in a setting, which an estimate of its memory asks about."""

    model: Model
    engine: str | None = None
    platform: str = "cuda"
    capability: str | None = None


def memory_of(
    budget: Budget, arguments: Mapping[str, Any], folder: pathlib.Path | None, question: Question | None = None
) -> Memory:
    """Bytes for the cache of one worker. Raises NoMemory where nothing says how much, ValueError for no size."""
    written = arguments.get("kv_cache_memory_bytes")
    exact = None if written is None else parse_size(str(written))
    exact = exact if budget.available is None else parse_memory(budget.available)
    if exact is not None:
        return Memory(exact, "given", gpu=budget.size, gpu_name=budget.name)
    if budget.size is not None:
        return _estimate(budget, arguments, folder, question)
    if arguments.get("num_gpu_blocks_override") is not None:
        return Memory(0, "not asked for: the number of blocks is given")
    raise NoMemory(
        "how much memory is there for the cache? Give --available-kv-cache-memory 12.57GiB (the start-up log says it), "
        "--kv-cache-memory-bytes, or --gpu H100 or --gpu-memory 80GiB for an estimate"
    )


def _estimate(
    budget: Budget, arguments: Mapping[str, Any], folder: pathlib.Path | None, question: Question | None
) -> Memory:
    assert budget.size is not None
    if budget.weights is not None:
        weights: Weights | None = Weights(parse_memory(budget.weights), "as given")
    else:
        weights = weights_of(folder) if folder else None
    utilisation = arguments.get("gpu_memory_utilization")
    share = DEFAULT_UTILISATION if utilisation is None else parse_utilisation(utilisation)
    if question is not None:
        return _of_question(budget, arguments, question, share, weights)
    if weights is None:
        raise NoMemory(
            "an estimate needs the weights: give --weights and their size (two bytes a parameter of bfloat16, so 16GB "
            "for 8B), or a folder with safetensors files"
        )
    ranks = engine_arguments({name: arguments[name] for name in RANKS if arguments.get(name) is not None})
    number = ranks.tensor_parallel_size * ranks.pipeline_parallel_size
    return estimated(budget.size, share, weights, number)._replace(gpu_name=budget.name)


def _of_question(
    budget: Budget, arguments: Mapping[str, Any], question: Question, utilisation: float, weights: Weights | None
) -> Memory:
    from kvinspect.models.estimate import Device, estimated_memory

    assert budget.size is not None
    unified = budget.gpus is not None and budget.gpus.gpu.unified
    device = Device(budget.size, budget.name, question.platform, question.capability, unified)
    rules = lookup.release(lookup.chosen(question.engine, None)[1]).models
    loaded = question.model.overridden(argument(arguments, "hf_overrides"))
    return estimated_memory(loaded.values, device, utilisation, engine_arguments(arguments), rules, weights, arguments)


def sweep(
    model: Model | str | pathlib.Path | Mapping[str, Any],
    axes: Sequence[Axis],
    memory: Callable[[Mapping[str, Any]], Memory],
    *,
    engine: str | None = None,
    platform: str = "cuda",
    device_capability: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> SweepAnswer:
    """The plans of a model at every combination of the axes' values; `memory` says what each set of arguments has.

    Raises DocumentError as `plan_model` where not one point can be planned, ValueError for too many points.
    """
    wanted = points(axes)
    loaded = model if isinstance(model, Model) else load_model(model)
    device: Any = {"engine": engine, "platform": platform, "device_capability": device_capability, "env": env}
    found: list[Point] = []
    errors: list[ValueError] = []
    left_out: dict[NotModelled, None] = {}
    setting = None
    for done, values in enumerate(wanted):
        arguments = {**(engine_args or {}), **values}
        try:
            has = memory(arguments)
            answer = plan_model(loaded, has, engine_args=arguments, **device)
            setting = answer.plan.setting
            left_out.update(dict.fromkeys(answer.plan.not_modelled))
            found.append(point_of(values, answer.plan, has.size, has.how))
        except ValueError as error:
            errors.append(error)
            found.append(impossible(values, error))
        if progress:
            progress(done + 1, len(wanted))
    if setting is None:
        raise _all_of(errors)
    return SweepAnswer(setting, tuple(axes), tuple(found), tuple(left_out))


def _all_of(errors: Sequence[ValueError]) -> ValueError:
    """The errors of all points as one, what several of them say said once."""
    problems = [problem for error in errors if isinstance(error, DocumentError) for problem in error.errors]
    return DocumentError(dict.fromkeys(problems)) if problems else errors[0]
