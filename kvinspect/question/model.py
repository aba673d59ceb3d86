"""A model under engine arguments and a release's rules: its specs, its plan, and the question about its cache."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from kvinspect.backends.deployment_facts import DEFAULT_CAPABILITY
from kvinspect.connectors.configured import ARGUMENTS, Transfer, transfer_of
from kvinspect.connectors.offloading import Offloaded
from kvinspect.document.frozen import frozen
from kvinspect.document.model import DocumentModel
from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.numbers import counted, ranged
from kvinspect.document.problem import DocumentError, Problem, nearest
from kvinspect.document.refusal import Refusal, Refused, Unknown
from kvinspect.models.arguments import EngineArguments, argument, engine_arguments
from kvinspect.models.config import Model
from kvinspect.models.configuration.check import served
from kvinspect.models.duties import environment, not_modelled
from kvinspect.models.given import SOURCE
from kvinspect.models.json_keys import check_keys
from kvinspect.models.memory import Memory
from kvinspect.models.planned import ModelPlanning
from kvinspect.models.specs_answer import SpecsAnswer, scheduler_defaults
from kvinspect.models.stages import stage_of
from kvinspect.planning.plan_answer import BackendChoice, ModelOrigin, PlanAnswer
from kvinspect.planning.prefixes import PrefixBlocks
from kvinspect.planning.request_load import RequestAnswer, RequestShape, load_of
from kvinspect.question.change import Verdict, WouldFit
from kvinspect.question.memory import PLENTY
from kvinspect.question.plan_with_connector import Connected, connected
from kvinspect.question.planned_cache import PlannedCache
from kvinspect.question.question import Question, Rules
from kvinspect.releases import lookup


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
    load: RequestAnswer | None = None
    """What the requests that are asked about take of the cache."""
    would_fit: tuple[WouldFit, ...] | None = None
    """Single changes that work where it is refused or tight, None where nobody looked for them."""

    def with_requests(self, shape: RequestShape) -> ModelPlan:
        """The same with whether requests of a shape fit at once. Raises ValueError for a shape that is none."""
        shape.checked()
        seqs = scheduler_defaults(self.stages[0].setting)[1]
        engines = self.stages[0].setting.arguments.data_parallel_size
        loads = [load_of(plan, shape, self.prefixes, seqs, engines) for plan in (self.plan, *(self.ends or ()))]
        return self._replace(load=RequestAnswer(loads[0], (loads[1], loads[2]) if self.ends else None))

    @property
    def fit(self) -> str:
        """`fits`, `tight` or `does not fit`, of an estimate with a band; empty where the memory is given."""
        if self.ends is None:
            return ""
        low, high = self.ends
        return "fits" if low.clean else "tight" if high.clean else "does not fit"

    @property
    def verdict(self) -> Verdict:
        """That of the model, or of the requests where they are asked about and it is worse."""
        own = self.fit or ("fits" if self.clean else "does not fit")
        both = (own, self.load.verdict if self.load else own)
        return "does not fit" if "does not fit" in both else "tight" if "tight" in both else "fits"

    @property
    def lacks_memory(self) -> bool:
        """Whether it is refused or tight, and memory is the reason."""
        refusal = self.plan.refusal
        return self.verdict != "fits" and (refusal is None or refusal.kind == "memory")

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
        batch = f"batches of up to {counted(batched, 'token', ',')} and {counted(seqs, 'sequence', ',')}"
        facts = (setting.architecture.name, setting.dtype, f"KV cache {setting.cache_dtype}", *ranks)
        steps = {batch: None}
        steps |= dict.fromkeys(step for stage in self.stages for step in stage.specs.blocks.steps)
        steps.update(dict.fromkeys(self._notes()))
        return ModelOrigin(
            facts, self.memory.how, tuple(backends), tuple(steps), self.source, self._verdict(), self.memory.sum
        )

    def _verdict(self) -> str:
        """Whether the longest request fits, in words."""
        tokens = counted(self.plan.deployment.max_model_len, "token", ",")
        if not self.fit:
            found = self.plan.capacity if self.plan.clean and self.memory.sum else None
            many = f"about {ranged(found.max_concurrency, found.max_concurrency)}" if found else ""
            return f"fits: {many} concurrent requests of {tokens} (estimated)" if many else ""
        if self.requests is None:
            return f"{self.fit}: {self._too_much() or f'not one request of {tokens}'} (estimated)"
        return f"{self.fit}: {ranged(*self.requests)} concurrent requests of {tokens} (estimated)"

    def _too_much(self) -> str:
        """That nothing at all is left for the cache, in words; empty where something is."""
        total = self.memory.sum
        if total is None or total.left + (total.margin or 0) > 0:
            return ""
        weights, may_use = (f"{size / 2**30:.1f} GiB" for size in (total.weights, total.requested))
        return f"{weights} of weights on each GPU leave no room for a KV cache within the {may_use} that vLLM may use"

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
        more: dict[str, Any] = {
            "prefix_caching": self.prefixes.to_dict() if self.prefixes else None,
            "offloading": self.offloaded.to_dict() if self.offloaded else None,
        }
        source = {"model_source": self.source} if self.source else {}
        if self.fit:
            source.update(fit=self.fit)
        if self.load is not None:
            more["requests"] = self.load.to_dict()
        if self.would_fit is not None:
            more["would_fit"] = [one.to_dict() for one in self.would_fit]
        return {**self.plan.to_dict(), **source, **more, "memory": self.memory.to_dict(), "stages": found}


class Served(NamedTuple):
    """A model as it is to be served: the engine's arguments, on which platform, under whose rules."""

    model: Model
    written: Mapping[str, Any]
    """The arguments as the user wrote them."""
    arguments: EngineArguments
    rules: Rules
    platform: str = "cuda"
    capability: str | float | None = None
    variables: Mapping[str, str] = {}
    """vLLM's environment variables, as far as they count."""
    transfer: Transfer | None = None
    """What a KV connector or offloading asks of the cache."""

    @classmethod
    def of(
        cls,
        model: Model,
        given: Mapping[str, Any] | EngineArguments | None,
        rules: Callable[[], Rules],
        platform: str = "cuda",
        capability: str | float | None = None,
    ) -> Served:
        """The model with what `--hf-overrides` makes of it. Raises DocumentError for arguments that vLLM lacks."""
        overridden = model.overridden(argument(given if isinstance(given, Mapping) else {}, "hf_overrides"))
        # Read before they are frozen, which no value without a bound is.
        arguments = engine_arguments(given)
        written = frozen(given if isinstance(given, Mapping) else {})
        applied = rules()
        check_keys(written, lookup.number(applied.version), applied.release.models.draft_keys_take_dashes)
        return cls(overridden, written, arguments, applied, platform, capability)

    def within(self, env: Mapping[str, str]) -> Served:
        """The same with environment variables and a KV connector."""
        version = lookup.number(self.rules.version)
        variables = environment(env, version)
        named = not ARGUMENTS.isdisjoint(self.written)
        transfer = transfer_of(self.written, variables, version) if named else None
        name = transfer.name if transfer else None
        arguments = replace(self.arguments, kv_connector=name, env=tuple(sorted(variables.items())))
        return self._replace(arguments=arguments, variables=variables, transfer=transfer)

    def stage(self, number: int) -> SpecsAnswer:
        """The specs of a pipeline stage. Raises Unknown or Refused, DocumentError for what cannot be used."""
        device = (self.platform, capability_of(self.platform, self.capability))
        return stage_of(self.model, self.rules.release, self.rules.called, device, self.arguments, number)

    def stages(self, memory: Memory) -> tuple[SpecsAnswer, ...]:
        """All stages, with the batches that `vllm serve` takes on the GPU that has the memory. Raises as `stage`."""
        made = [self.stage(i) for i in range(self.arguments.pipeline_parallel_size)]
        return served(made, self.model.text, self.written, self.transfer, memory)


class ModelQuestion:
    """What is asked about a model that is to be served with some memory for its cache."""

    def __init__(self, served: Served, memory: Memory) -> None:
        self.served, self.memory = served, memory

    @cached_property
    def stages(self) -> tuple[SpecsAnswer, ...]:
        """The specs of each pipeline stage. Raises DocumentError, Unknown or Refused as `Served.stage`."""
        return self.served.stages(self.memory)

    def _planned(self, size: int, layout: str | None) -> tuple[ModelPlanning, DocumentModel]:
        """What the cache is planned from in a number of bytes, and what its document says beside the specs."""
        planning = ModelPlanning(self.stages, size, self.served.written, self.served.transfer, layout)
        return planning, planning.said

    def _at(self, size: int) -> Connected:
        """The plan with a number of bytes, in the layout that a KV connector requires."""
        in_any = self._planned(size, None)

        def ask(layout: str | None) -> Question:
            return PlannedCache(
                *(self._planned(size, layout) if layout else in_any), self.served.rules, self.not_modelled
            )

        return connected(ask, self.served.transfer, self.stages[0])

    @cached_property
    def _connected(self) -> Connected:
        return self._at(self.memory.size)

    @property
    def cache(self) -> Question:
        """The question about the cache that the model gets, in the layout that its KV connector requires."""
        return self._connected.question

    @property
    def refusal(self) -> Refusal | None:
        """What keeps the engine from starting with the cache."""
        return self._connected.plan.refusal

    @cached_property
    def caches(self) -> tuple[Question, ...]:
        """The questions about the caches of the workers that are not alike: those of a pipeline's stages."""
        asked = self.cache
        if self.refusal is not None or self.served.arguments.pipeline_parallel_size == 1:
            return (asked,)
        documents = map(asked.cache_of, asked.plan.of_workers)
        return tuple(Question(one, asked.release, asked.about.setting) for one in documents)

    @property
    def _is_estimated(self) -> bool:
        """Whether an answer depends on a memory that is not given."""
        return self.memory.how != "given" and self.memory is not PLENTY

    @cached_property
    def not_modelled(self) -> tuple[NotModelled, ...]:
        """What is given and left out of every answer about the cache."""
        served = self.served
        version = lookup.number(served.rules.version)
        left_out = not_modelled(served.written, served.variables, version, self._is_estimated)
        drafts = dict.fromkeys(stage.specs.left_out for stage in self.stages if stage.specs.left_out)
        drafting = self.stages[0].specs.drafting
        graphs = [drafting.left_out] if drafting and drafting.left_out else []
        return (
            *(NotModelled("--speculative-config", what, True) for what in drafts),
            *(NotModelled("--speculative-config.num_speculative_tokens_per_batch_size", what) for what in graphs),
            *left_out,
        )

    @cached_property
    def plan(self) -> ModelPlan:
        """The plan, with where everything in it comes from and what is left out of it."""
        found = self._connected
        band = self.memory.band
        ends = (self._at(band.low).plan, self._at(band.high).plan) if band else None
        return ModelPlan(
            self.stages, self.memory, found.plan, prefixes=found.prefixes, offloaded=found.offloaded, ends=ends
        )


@contextmanager
def spoken(model: Model) -> Iterator[None]:
    """What is unknown, or stops the engine before it has layers, as an error of the arguments or of the model."""
    try:
        yield
    except Unknown as unknown:
        raise DocumentError([unknown.problem._replace(source=SOURCE)]) from None
    except Refused as refused:
        problem = Problem((), message=f"the engine stops: {refused.refusal.text}", source=model.name, kind="stopped")
        raise DocumentError([problem]) from None


def platform_of(given: str) -> str:
    """The platform. Raises DocumentError for one that is none."""
    if given not in DEFAULT_CAPABILITY:
        near = nearest(str(given), DEFAULT_CAPABILITY)
        expected = "one of " + ", ".join(DEFAULT_CAPABILITY)
        raise DocumentError(
            [Problem(("platform",), expected=expected, found=f'"{given}"', nearest=near, source=SOURCE)]
        )
    return given


def capability_of(platform: str, given: str | float | None) -> str | None:
    """The compute capability as `major.minor`. Raises DocumentError for a platform or capability that is none."""
    platform = platform_of(platform)
    if given is None:
        return DEFAULT_CAPABILITY[platform]
    text = f"{given:.1f}" if isinstance(given, (int, float)) and not isinstance(given, bool) else str(given)
    major, _, minor = text.partition(".")
    if not (major.isdigit() and len(major) <= 2 and minor.isdigit() and len(minor) == 1):
        expected = "a compute capability such as 9.0"
        raise DocumentError([Problem(("device_capability",), expected=expected, found=f'"{given}"', source=SOURCE)])
    return text
