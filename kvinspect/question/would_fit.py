"""What would fit where a plan is refused or tight: single changes of the call, each planned again, best first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.models.arguments import engine_arguments
from kvinspect.models.deployed import SIZES
from kvinspect.models.memory import DEFAULT_UTILISATION, parse_utilisation
from kvinspect.models.specs_answer import scheduler_defaults
from kvinspect.question.change import Change, WouldFit
from kvinspect.question.model import ModelPlan
from kvinspect.question.siblings import quantized_siblings

if TYPE_CHECKING:
    from kvinspect.hardware.gpus import Gpus

MOST = 5
"""Changes that are shown."""

MOST_PLANS = 24
"""Plans that are made to find them."""

UTILIZATION = 0.95
"""The highest share of a GPU that is proposed: above it, start-ups often run out of memory outside the cache."""

BATCHED_TOKENS, SEQUENCES = (4_096, 2_048), (256, 64, 16)
"""Sizes of batches that are proposed, where they are lower than those in force."""

TENSOR_RANKS = (2, 4, 8)
"""Sizes of tensor parallelism: those of one machine."""

STAGES = (2, 4)
"""Stages of a pipeline, of as many ranks as a machine has."""

STEP = 1_024
"""Lengths are rounded down to a multiple of it, or of a sixteenth where they are shorter."""


def at_once_of(found: ModelPlan) -> tuple[float, float]:
    """Requests at once at both ends of the band: of the shape that is asked about, else of the greatest length."""
    here = found.plan.capacity.max_concurrency if found.plan.capacity else 0.0
    return found.load.at_once if found.load else found.requests or (here, here)


def _outcome(change: Change, found: ModelPlan) -> WouldFit:
    """What comes of a change."""
    return WouldFit(change, found.verdict, at_once_of(found), found.plan.deployment.max_model_len)


class Asked(NamedTuple):
    """A plan with the call that it answers; `again` plans it with a change, or raises ValueError."""

    found: ModelPlan
    arguments: Mapping[str, Any]
    again: Callable[[Change], ModelPlan]
    gpus: Gpus | None = None
    model: str = ""
    """The name of the model, where quantized ones of it may be bundled."""
    own_weights: bool = False
    """Whether the call itself says how large the weights are, which are not those of another model."""

    @property
    def estimated(self) -> bool:
        """Whether the memory follows from the arguments; one that is given or measured is that of these alone."""
        return not self.found.memory.exact and self.found.memory.weights is not None


def would_fit(asked: Asked) -> tuple[WouldFit, ...]:
    """The changes with which the model fits, or at least may; those that cost least first, more GPUs last."""
    budget = _Budget(asked.again)
    found = [one for kind in _kinds(asked, budget) if (one := _first(kind, budget, asked.found.verdict))]
    return tuple(islice(sorted(found, key=lambda one: one.verdict != "fits"), MOST))


class _Budget:
    """Plans a change, None where nothing can be planned or enough has been."""

    def __init__(self, again: Callable[[Change], ModelPlan]) -> None:
        self.again, self.left = again, MOST_PLANS

    def plan(self, change: Change) -> ModelPlan | None:
        if not self.left:
            return None
        self.left -= 1
        try:
            return self.again(change)
        except ValueError:
            # Not a number of heads that can be divided, no cache of this type on the platform, no such GPU.
            return None


def _first(changes: Iterable[Change], budget: _Budget, before: str) -> WouldFit | None:
    """The first change with which the model fits, else the first with which it may and did not before."""
    second = None
    for change in changes:
        plan = budget.plan(change)
        if plan is None:
            continue
        now = plan.verdict
        if now == "fits":
            return _outcome(change, plan)
        if now == "tight" and before == "does not fit" and second is None:
            second = _outcome(change, plan)
    return second


def _kinds(asked: Asked, budget: _Budget) -> Iterator[Iterable[Change]]:
    """The kinds of change, those first that take nothing away from the answers; each from its smallest step on."""
    seqs = scheduler_defaults(asked.found.stages[0].setting)[1]
    if asked.estimated:
        yield _utilization(asked.arguments)
        yield _batches(asked, seqs)
    yield _sequences(asked, seqs)
    yield _cache_type(asked)
    yield _lengths(asked, budget)
    if asked.estimated:
        if not asked.own_weights:
            yield (Change(name, model=name) for name in quantized_siblings(asked.model))
        yield _ranks(asked)


def _utilization(arguments: Mapping[str, Any]) -> Iterator[Change]:
    written = arguments.get("gpu_memory_utilization")
    if (DEFAULT_UTILISATION if written is None else parse_utilisation(written)) < UTILIZATION:
        yield _flag("--gpu-memory-utilization", "gpu_memory_utilization", UTILIZATION)


def _batches(asked: Asked, seqs: int) -> Iterator[Change]:
    batched = scheduler_defaults(asked.found.stages[0].setting)[0]
    for size in BATCHED_TOKENS:
        if seqs <= size < batched:
            yield _flag("--max-num-batched-tokens", "max_num_batched_tokens", size)


def _sequences(asked: Asked, seqs: int) -> Iterator[Change]:
    """Fewer, each of which costs the sampler memory; more, where that is what limits the requests."""
    load = asked.found.load
    wanted = load.load.of_an_engine if load else 1
    if load is not None and load.load.limit == "max_num_seqs" and wanted > seqs:
        yield _flag("--max-num-seqs", "max_num_seqs", wanted)
    elif asked.estimated:
        for size in SEQUENCES:
            if wanted <= size < seqs:
                yield _flag("--max-num-seqs", "max_num_seqs", size)


def _cache_type(asked: Asked) -> Iterator[Change]:
    setting = asked.found.stages[0].setting
    if setting.cache_dtype in ("auto", "bfloat16", "float16", "half", "float32"):
        yield _flag("--kv-cache-dtype", "kv_cache_dtype", "fp8")


def _lengths(asked: Asked, budget: _Budget) -> Iterator[Change]:
    """The longest that fits at the low end of the band, then at its middle; as long as the requests, if it is short."""
    load, longest = asked.found.load, asked.found.plan.deployment.max_model_len
    if load is not None and load.load.limit == "max_model_len":
        yield _length(load.load.shape.tokens)
        return
    fitted = budget.plan(Change("", {"max_model_len": "auto"}))
    if fitted is None:
        return
    plans = (fitted.ends[0] if fitted.ends else fitted.plan, fitted.plan)
    for tokens in dict.fromkeys(_rounded(plan.deployment.max_model_len) for plan in plans if plan.starts):
        if 0 < tokens < longest:
            yield _length(tokens)


def _rounded(tokens: int) -> int:
    step = STEP if tokens >= STEP else STEP // 16
    return tokens // step * step


def _length(tokens: int) -> Change:
    return _flag("--max-model-len", "max_model_len", tokens)


def _ranks(asked: Asked) -> Iterator[Change]:
    """More GPUs of the same kind, as tensor parallelism within a machine and as a pipeline of machines beyond it."""
    read = engine_arguments({name: asked.arguments[name] for name in SIZES if asked.arguments.get(name) is not None})
    here, stages = read.tensor_parallel_size, read.pipeline_parallel_size
    others = read.data_parallel_size * read.prefill_context_parallel_size
    wanted = [(size, stages) for size in TENSOR_RANKS if size > here]
    wanted += [(max(here, TENSOR_RANKS[-1]), size) for size in STAGES if size > stages]
    for tensor, pipeline in wanted:
        # Said even where it stays: any size that is written keeps the number of GPUs from being that of `-tp`.
        flags = [f"-tp {tensor}"] if tensor > 1 else []
        flags += [f"-pp {pipeline}"] if pipeline != stages else []
        if asked.gpus is not None:
            flags.insert(0, f"--gpu {gpu_word(tensor * pipeline * others, asked.gpus.gpu.name)}")
        yield Change(" ".join(flags), {"tensor_parallel_size": tensor, "pipeline_parallel_size": pipeline})


def gpu_word(number: int, name: str) -> str:
    """So many GPUs of a kind as one word of a command."""
    word = f"{number}x{name}"
    return f"'{word}'" if " " in word else word


def _flag(flag: str, name: str, value: Any) -> Change:
    return Change(f"{flag} {value}", {name: value})
