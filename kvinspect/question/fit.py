"""The smallest number of each kind of GPU that holds a model with the requests that are asked about."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.document.frozen import Frozen, frozen
from kvinspect.document.not_modelled import NotModelled
from kvinspect.engine.align_answer import SCHEMA_VERSION
from kvinspect.hardware.gpus import Gpus
from kvinspect.models.arguments import engine_arguments
from kvinspect.models.deployed import SIZES
from kvinspect.models.memory import DEFAULT_UTILISATION, parse_utilisation
from kvinspect.models.specs_answer import scheduler_defaults
from kvinspect.planning.request_load import RequestShape
from kvinspect.question.change import Verdict
from kvinspect.question.model import ModelPlan
from kvinspect.question.would_fit import at_once_of

if TYPE_CHECKING:
    from kvinspect.hardware.gpu import Gpu

TENSOR_RANKS = (8, 4, 2, 1)
"""Sizes of tensor parallelism that are tried: a machine has eight GPUs, and weights are divided by powers of two."""

MACHINE = TENSOR_RANKS[0]
"""GPUs of one machine; more are whole machines."""

MOST_GPUS = 64
"""GPUs up to which a number is looked for, unless a call names another one (`16xH100`)."""

MOST_PLANS = 40
"""Plans that are made for one kind of GPU."""

ALIKE = 3
"""Plans with one and the same error, after which no other number is tried."""

USUAL = ("L4", "L40S", "RTX 5090", "A100-80GB", "H100", "H200", "B200", "MI300X")
"""The GPUs that are tried where a call names none."""

MEMORY_SAID = ("kv_cache_memory_bytes", "num_gpu_blocks_override")
"""Arguments that say how large the cache is, whatever GPU there is."""

Plan = Callable[["Gpu", Mapping[str, Any]], ModelPlan]
"""Plans under arguments on a kind of GPU. Raises ValueError where there is no such plan."""


class Wanted(NamedTuple):
    """What has to fit: a model under arguments, and requests of a shape, else one of the greatest length."""

    plan: Plan
    arguments: Mapping[str, Any]
    shape: RequestShape | None = None


class Deployment(NamedTuple):
    """So many GPUs of a kind under which a model fits, or of which not even the most do."""

    gpu: str
    number: int
    gpu_memory: int
    arguments: Mapping[str, Any]
    """What has to be said beside the arguments of the call."""
    verdict: Verdict
    requests: tuple[float, float] = (0, 0)
    """Requests at once at both ends of the band: of the greatest length, or of the shape that is asked about."""
    max_model_len: int = 0
    available: tuple[int | None, int, int | None] | None = None
    """Bytes for the cache of each GPU: low, estimate, high."""
    why: str = ""
    """What keeps it from fitting."""

    @property
    def flags(self) -> tuple[str, ...]:
        """The arguments as words of a command."""
        return tuple(word for name, value in self.arguments.items() for word in (_flag(name), str(value)))

    @property
    def rank(self) -> tuple[object, ...]:
        """Where it stands among others: what fits first, the fewest GPUs first, of those the smallest."""
        return self.verdict != "fits", self.verdict != "tight", self.number, self.gpu_memory, self.gpu

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON; sizes in bytes."""
        low, middle, high = self.available or (None, None, None)
        return {
            "gpu": self.gpu,
            "number": self.number,
            "gpu_memory": self.gpu_memory,
            "verdict": self.verdict,
            "flags": list(self.flags),
            "engine_args": dict(self.arguments),
            "requests": {"low": self.requests[0], "high": self.requests[1]},
            "max_model_len": self.max_model_len or None,
            "available_bytes": {"low": low, "estimate": middle, "high": high},
            "why": self.why or None,
        }


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


class FitAnswer(NamedTuple):
    """The deployments, best first, and what they were asked about."""

    source: str
    engine: str
    deployments: tuple[Deployment, ...]
    shape: RequestShape | None = None
    model_source: str = ""
    """Where the config.json is from, where it is no file that was named."""
    commands: tuple[str, ...] = ()
    """The `vllm serve` line of each deployment."""
    not_modelled: tuple[NotModelled, ...] = ()
    """What was given and is not in the plans."""

    @property
    def clean(self) -> bool:
        """Whether it fits on any of the GPUs."""
        return any(one.verdict == "fits" for one in self.deployments)

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON has it."""
        commands = self.commands or (None,) * len(self.deployments)
        rows = [{**one.to_dict(), "command": line} for one, line in zip(self.deployments, commands, strict=True)]
        return {
            "schema_version": SCHEMA_VERSION,
            "source": self.source,
            "engine": self.engine,
            "model_source": self.model_source or None,
            "not_modelled": [one.to_dict() for one in self.not_modelled],
            "requests": self.shape._asdict() if self.shape else None,
            "deployments": rows,
        }


def smallest(wanted: Wanted, gpus: Sequence[Gpus]) -> FitAnswer:
    """The deployments, best first.

    Raises the error of the first plan where not one can be made, ValueError where the memory is given.
    """
    said = next((name for name in MEMORY_SAID if wanted.arguments.get(name) is not None), None)
    if said:
        raise ValueError(f"{said} says how large the cache is, and the number of GPUs follows from their memory")
    searches = [_Search(wanted, one) for one in gpus]
    rows = sorted((row for one in searches for row in one.rows()), key=lambda row: row.rank)
    plan = next((one.plan for one in searches if one.plan), None)
    if plan is None:
        raise next(one.error for one in searches if one.error)
    header = plan.plan.setting
    left_out = tuple(dict.fromkeys(left for one in searches for left in one.left_out))
    return FitAnswer(header.source, header.engine, tuple(rows), wanted.shape, plan.source, not_modelled=left_out)


class _Search:
    """The search for the number of one kind of GPU; `plan` and `error` are the first of their kind.

    `usual_seqs` are the sequences of a batch where no flag says.
    """

    def __init__(self, wanted: Wanted, gpus: Gpus) -> None:
        self.wanted, self.gpu = wanted, gpus.gpu
        self.most = gpus.number if gpus.counted else MOST_GPUS
        given = {name: wanted.arguments[name] for name in SIZES if wanted.arguments.get(name) is not None}
        read = engine_arguments(given)
        self.engines = read.data_parallel_size
        self.others = self.engines * read.prefill_context_parallel_size
        self.tensor = (read.tensor_parallel_size,) if SIZES[0] in given else TENSOR_RANKS
        self.pipeline = read.pipeline_parallel_size if SIZES[1] in given else None
        self.plan: ModelPlan | None = None
        self.error: ValueError | None = None
        self.last, self.alike = "", 0
        self.usual_seqs: int | None = None
        self.left_out: dict[NotModelled, None] = {}

    def rows(self) -> Iterator[Deployment]:
        """The smallest number that fits, behind it a smaller one that may; else the best of what does not."""
        second = last = None
        for tensor, pipeline in self._sizes():
            row = self._row(tensor, pipeline)
            if row is None:
                if self.alike >= ALIKE:
                    break
                continue
            if row.verdict == "fits":
                yield row
                break
            second = second or (row if row.verdict == "tight" else None)
            last = max(last or row, row, key=lambda one: (one.requests, one.number))
        else:
            if second is None:
                yield last or self._impossible()
        if second is not None:
            yield second

    def _impossible(self) -> Deployment:
        why = str(self.error) if self.error else f"{self.others:,} GPUs are needed by the arguments alone"
        return Deployment(self.gpu.name, self.most, self.gpu.memory, Frozen(), "does not fit", why=why)

    def _row(self, tensor: int, pipeline: int) -> Deployment | None:
        """What comes of some ranks, None where there is no such plan."""
        sizes = dict(zip(SIZES, (tensor, pipeline), strict=False))
        more = {name: size for name, size in sizes.items() if size > 1 and self.wanted.arguments.get(name) is None}
        more |= self._of_requests()
        try:
            found = self._planned(more)
        except ValueError as error:
            self._failed(error)
            return None
        number = tensor * pipeline * self.others
        now, requests = found.verdict, at_once_of(found)
        return Deployment(
            self.gpu.name, number, self.gpu.memory, frozen(more), now, requests, found.plan.deployment.max_model_len,
            found.memory.range, "" if now == "fits" else _why(found),
        )  # fmt: skip

    def _planned(self, more: Mapping[str, Any]) -> ModelPlan:
        found = self.wanted.plan(self.gpu, {**self.wanted.arguments, **more})
        found = found if self.wanted.shape is None else found.with_requests(self.wanted.shape)
        self.plan = self.plan or found
        self.left_out.update(dict.fromkeys(found.plan.not_modelled))
        return found

    def _of_requests(self) -> dict[str, Any]:
        """The length and the number of requests, where the call says them by their shape alone."""
        shape, arguments, more = self.wanted.shape, self.wanted.arguments, {}
        if shape is not None and arguments.get("max_model_len") is None:
            more["max_model_len"] = shape.tokens
        if shape is not None and arguments.get("max_num_seqs") is None and self.usual_seqs is not None:
            each = -(-shape.number // self.engines)
            more |= {"max_num_seqs": each} if each > self.usual_seqs else {}
        return more

    def _failed(self, error: ValueError) -> None:
        """Keep the first error, and count how often it came again word by word: no number of GPUs changes that."""
        self.alike = self.alike + 1 if str(error) == self.last else 1
        self.last, self.error = str(error), self.error or error

    def _sizes(self) -> Iterator[tuple[int, int]]:
        """Sizes of tensor and of pipeline parallelism, the fewest GPUs first, as few stages as can be."""
        least, left = self._least(), MOST_PLANS
        for number in range(1, self.most // self.others + 1):
            for tensor in self.tensor:
                pipeline, rest = divmod(number, tensor)
                # Beyond one machine only whole ones are looked at, unless the call has sizes of its own.
                parts = number > MACHINE and number % MACHINE and len(self.tensor) > 1 and self.pipeline is None
                if rest or not pipeline or self.pipeline not in (None, pipeline) or parts or not left:
                    continue
                base = (self.tensor[0] if len(self.tensor) == 1 else 1) * (self.pipeline or 1)
                if number < least * base:
                    continue
                left -= 1
                yield tensor, pipeline

    def _least(self) -> int:
        """A number of parts below which the weights and the requests are larger than the memory; 1 if unknown.

        A part holds no less than its share of what one would hold alone.
        """
        try:
            alone = self.wanted.plan(self.gpu, self.wanted.arguments)
            self.usual_seqs = scheduler_defaults(alone.stages[0].setting)[1]
            roomy = self._planned({**self._of_requests(), "kv_cache_memory_bytes": 1 << 50})
        except ValueError as error:
            self._failed(error)
            return 1
        blocks = -(-roomy.load.load.needed // self.engines) if roomy.load else 1
        needed = blocks * roomy.plan.workers[0].bytes_per_block if roomy.plan.workers else 0
        written = self.wanted.arguments.get("gpu_memory_utilization")
        share = DEFAULT_UTILISATION if written is None else parse_utilisation(written)
        return max(1, ceil(((alone.memory.weights or 0) + needed) / (share * self.gpu.memory)))


def _why(found: ModelPlan) -> str:
    """What keeps a plan from fitting for sure, in a few words."""
    weights, (_, available, _) = found.memory.weights, found.memory.range
    if weights is not None and found.memory.gpu and weights >= found.memory.gpu:
        return "the weights alone are larger than the memory"
    if not available:
        return "no memory is left for the cache"
    if found.verdict == "tight":
        return "the low end of the estimate is too small"
    if found.load is not None and found.load.load.limit == "max_num_seqs":
        return "max_num_seqs is smaller than the number of requests"
    return "the cache is too small"
