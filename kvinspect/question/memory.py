"""How much memory there is for the cache, from what a call says about it."""

from __future__ import annotations

import pathlib
import warnings
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.models.arguments import argument, engine_arguments
from kvinspect.models.config import Model
from kvinspect.models.memory import DEFAULT_UTILISATION, Memory, parse_memory, parse_size, parse_utilisation
from kvinspect.models.weights import Weights, weights_of
from kvinspect.question.question import Rules

if TYPE_CHECKING:
    from kvinspect.hardware.gpus import Gpus

PLENTY = Memory(1 << 50, "not needed: no cache is refused for lack of memory", exact=False)
"""Memory where no flag says how much there is, and the answer does not depend on it."""


class NoMemory(ValueError):
    """Nobody said how much memory there is for the cache."""

    instead = "--gpu H100"
    """Words that say it."""


class Budget(NamedTuple):
    """What a call says about memory; sizes as people write them, None where it says nothing."""

    available: str | None = None
    gpu: str | None = None
    weights: str | None = None
    gpus: Gpus | None = None
    measured: Memory | None = None
    """What a start-up of the same kind had."""

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


class ServedModel(NamedTuple):
    """A model in a setting, which an estimate of its memory asks about."""

    model: Model
    engine: str | None = None
    platform: str = "cuda"
    capability: str | None = None


def memory_of(
    budget: Budget,
    arguments: Mapping[str, Any],
    folder: pathlib.Path | None,
    model: ServedModel | None = None,
    hub_id: str = "",
) -> Memory:
    """Bytes for the cache of one worker; without a model nothing is estimated.

    The weights are those of `folder`, else those that the hub tells of `hub_id`, else computed.

    Raises NoMemory where nothing says how much, ValueError for no size.
    """
    written = arguments.get("kv_cache_memory_bytes")
    exact = None if written is None else parse_size(str(written))
    exact = exact if budget.available is None else parse_memory(budget.available)
    if exact is not None:
        return Memory(exact, "given", gpu=budget.size, gpu_name=budget.name)
    if budget.measured is not None:
        return budget.measured._replace(gpu=budget.size, gpu_name=budget.name)
    if budget.size is not None and model is not None:
        return _of_model(budget, arguments, model, _weights(budget, folder, hub_id))
    if arguments.get("num_gpu_blocks_override") is not None:
        return Memory(0, "not needed: the number of blocks is given")
    raise NoMemory(
        "how much memory is there for the cache? Give --available-kv-cache-memory 12.57GiB (the start-up log says it), "
        "--kv-cache-memory-bytes, or --gpu H100 or --gpu-memory 80GiB for an estimate"
    )


def _weights(budget: Budget, folder: pathlib.Path | None, hub_id: str) -> Weights | None:
    """All weights, as far as somebody says how many bytes they have. Raises ValueError for no size."""
    if budget.weights is not None:
        return Weights(parse_memory(budget.weights), "as given")
    found = weights_of(folder) if folder else None
    return found or (_of_hub(hub_id) if hub_id else None)


@cache
def _of_hub(hub_id: str) -> Weights | None:
    """What the hub tells, asked once however many plans are made; that it does not is said once."""
    from kvinspect.models.hub_files import NotGiven
    from kvinspect.models.hub_weights import hub_weights

    try:
        return hub_weights(hub_id)
    except NotGiven as error:
        said = f"the weights of {hub_id} are not read from the hub: {error}"
        warnings.warn(f"{said}; they are computed from the config.json", stacklevel=2)
        return None


def _of_model(budget: Budget, arguments: Mapping[str, Any], model: ServedModel, weights: Weights | None) -> Memory:
    from kvinspect.models.estimate import Device, estimated_memory

    assert budget.size is not None
    written = arguments.get("gpu_memory_utilization")
    utilisation = DEFAULT_UTILISATION if written is None else parse_utilisation(written)
    unified = budget.gpus is not None and budget.gpus.gpu.unified
    device = Device(budget.size, budget.name, model.platform, model.capability, unified)
    rules = Rules.of(model.engine).release.models
    loaded = model.model.overridden(argument(arguments, "hf_overrides"))
    return estimated_memory(loaded.values, device, utilisation, engine_arguments(arguments), rules, weights, arguments)
