"""The memory for the KV cache of a worker, estimated from a GPU, the weights and what a start-up sets aside."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

from kvinspect.document.numbers import counted
from kvinspect.models.arguments import EngineArguments
from kvinspect.models.computed_weights import SOURCE, computed_bytes
from kvinspect.models.memory import Band, Memory
from kvinspect.models.parameters import Config
from kvinspect.models.profiled import Profile, Run, half_band, terms_of
from kvinspect.models.specs_answer import server_defaults
from kvinspect.models.weights import Weights
from kvinspect.planning.memory_sum import MemorySum
from kvinspect.releases.model_rules import ModelRules

GIB = 1 << 30


class Device(NamedTuple):
    """The GPU of a worker. `memory` is in bytes."""

    memory: int
    name: str = ""
    platform: str = "cuda"
    capability: str | None = None
    unified: bool = False

    @property
    def without_band(self) -> str:
        """Why no band is given, empty where one is."""
        if self.unified:
            return "memory that is shared with the host"
        return "" if self.platform == "cuda" else self.platform.replace("rocm", "ROCm")


def estimated_memory(
    config: Config,
    device: Device,
    utilization: float,
    arguments: EngineArguments,
    rules: ModelRules,
    weights: Weights | None = None,
    written: Mapping[str, Any] | None = None,
) -> Memory:
    """What is left for the cache of the worker that has least. `weights` are those of the whole model, where known."""
    word = (written or {}).get("quantization")
    dtype = arguments.dtype if arguments.dtype != "auto" else "bfloat16"
    share = _share(config, arguments, weights, dtype, word if isinstance(word, str) else None)
    run = _run(device, arguments, rules, written or {})
    terms = terms_of(config, run, Profile(sampler_copies=rules.sampler_copies))
    requested = ceil(device.memory * utilization)
    left = requested - share - sum(terms.values())
    half = None if device.without_band else half_band(terms)
    source = weights.source if weights else SOURCE
    ranks = arguments.tensor_parallel_size * arguments.pipeline_parallel_size
    return Memory(
        max(left, 0),
        _how(utilization, device, share, source, ranks, terms, half),
        exact=False,
        gpu=device.memory,
        gpu_name=device.name,
        band=Band(max(left - half, 0), max(left + half, 0)) if half is not None else None,
        weights=share,
        terms=tuple(terms.items()),
        sum=MemorySum(
            gpu_name=device.name,
            gpu=device.memory,
            utilization=utilization,
            requested=requested,
            weights=share,
            weights_from=source,
            ranks=ranks,
            batched_tokens=run.batched,
            terms=tuple(terms.items()),
            margin=half,
        ),
    )


def _share(config: Config, arguments: EngineArguments, weights: Weights | None, dtype: str, word: str | None) -> int:
    """Bytes of weights on the rank that holds most: computed, and scaled to the size of all where that is known."""
    most = max(computed_bytes(config, arguments, dtype, word))
    if weights is None:
        return most
    ranks = arguments.tensor_parallel_size * arguments.pipeline_parallel_size
    alone = sum(computed_bytes(config, EngineArguments(), dtype, word))
    parted = ranks > 1 or arguments.data_parallel_size > 1
    return round(weights.size * most / alone) if parted and alone else ceil(weights.size / ranks)


def _run(device: Device, arguments: EngineArguments, rules: ModelRules, written: Mapping[str, Any]) -> Run:
    batched, seqs = server_defaults(rules, device.memory, device.name, device.capability)
    ranks = arguments.tensor_parallel_size
    world = ranks * arguments.pipeline_parallel_size * arguments.data_parallel_size
    return Run(
        batched=arguments.max_num_batched_tokens or batched,
        seqs=arguments.max_num_seqs or seqs,
        ranks=ranks,
        world=world,
        eager=bool(written.get("enforce_eager")),
        language_only=arguments.language_model_only,
    )


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB"


def _how(
    utilization: float, device: Device, share: int, source: str, ranks: int, terms: Mapping[str, int], half: int | None
) -> str:
    """The sum in words."""
    each = f", the share of one of {counted(ranks, 'rank')}" if ranks > 1 else ""
    aside = _gib(sum(terms.values()))
    rest = ", ".join(f"{_gib(size)} {name}" for name, size in terms.items())
    band = (
        f"± {_gib(half)}"
        if half is not None
        else f"without a band, as too few start-ups on {device.without_band} are known"
    )
    return (
        f"estimated: {utilization:.2f} of {device.name or 'a GPU'} with {_gib(device.memory)}, "
        f"less {_gib(share)} weights ({source}{each}) and {aside} that the start-up sets aside ({rest}); {band}"
    )
