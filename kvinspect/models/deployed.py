"""Engine arguments on the GPUs that a call names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kvinspect.document.numbers import counted
from kvinspect.models.arguments import engine_arguments

if TYPE_CHECKING:
    from kvinspect.hardware.gpus import Gpus

SIZES = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "prefill_context_parallel_size")
"""Arguments whose product is the number of GPUs."""

DEFAULT_PLATFORM = "cuda"


def device_of(gpus: Gpus | None, platform: str | None, capability: str | None) -> tuple[str, str | None]:
    """(platform, compute capability): those that are given, else those of the GPUs.

    Raises ValueError for a platform that the GPU does not have.
    """
    if gpus is None:
        return platform or DEFAULT_PLATFORM, capability
    if platform not in (None, gpus.gpu.platform):
        raise ValueError(f"--gpu {gpus.gpu.name} is of platform {gpus.gpu.platform}, and --platform says {platform}")
    return gpus.gpu.platform, capability or gpus.gpu.capability


def on_gpus(arguments: Mapping[str, Any], gpus: Gpus | None) -> Mapping[str, Any]:
    """The arguments on these GPUs: their number is that of tensor parallelism unless the arguments say otherwise.

    Raises ValueError where the arguments need more GPUs than there are.
    """
    if gpus is None or not gpus.counted:
        return arguments
    if not any(arguments.get(name) is not None for name in SIZES):
        return {**arguments, "tensor_parallel_size": gpus.number} if gpus.number > 1 else arguments
    in_sight(arguments, gpus.number, "--gpu")
    return arguments


def in_sight(arguments: Mapping[str, Any], number: int | None, named_by: str) -> None:
    """Raises ValueError where the arguments need more GPUs than the `number` that something lets the engine see."""
    if number is None:
        return
    read, needed = engine_arguments({name: arguments[name] for name in SIZES if arguments.get(name) is not None}), 1
    for name in SIZES:
        needed *= getattr(read, name)
    if needed > number:
        have = f"{named_by} names {counted(number, 'GPU')}"
        sizes = ", ".join(f"{name} {getattr(read, name)}" for name in SIZES if getattr(read, name) > 1)
        raise ValueError(f"{have}, and the arguments need {needed:,} ({sizes})")
