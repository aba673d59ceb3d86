"""The raw allocations and every layer's view of them as tensors, held against the views that were computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from kvinspect.device.choose import DeviceError
from kvinspect.geometry import Step, StridedView

HEADROOM = 0.9
"""Of the free memory that may be taken."""

META_BYTES = 2**62
"""The largest allocation that a meta tensor can stand for."""


class ViewMismatch(Exception):
    """What torch reports is not what was computed: an error of ours."""


class Wanted(NamedTuple):
    """A view to be made: the allocation it lies on, its dtype, the chain of operations, and what has to come out."""

    label: str
    allocation: int
    dtype: str
    steps: tuple[Step, ...]
    view: StridedView


class Materialised(NamedTuple):
    """Tensors by label; several where a layer has several views."""

    device: str
    device_name: str
    raw: Mapping[int, Any]
    views: Mapping[str, tuple[Any, ...]]
    num_bytes: int


def materialise(device: str, sizes: Mapping[int, int], wanted: Iterable[Wanted]) -> Materialised:
    """Allocate `sizes` (bytes) on a device, make the views, and compare each with what was computed.

    Raises DeviceError where memory is short, ViewMismatch where torch disagrees with a computed view.
    """
    from kvinspect.device.quiet import torch

    try:
        raw = {key: torch.zeros(size, dtype=torch.int8, device=device) for key, size in sizes.items()}
    except (torch.OutOfMemoryError, RuntimeError, MemoryError) as error:
        raise DeviceError(f"{sum(sizes.values())} bytes do not fit on {device}: {_first_line(error)}") from None
    views: dict[str, tuple[Any, ...]] = {}
    for want in wanted:
        tensor = replay(raw[want.allocation], want.steps, getattr(torch, want.dtype))
        _compare(tensor, want, raw[want.allocation])
        views[want.label] = (*views.get(want.label, ()), tensor)
    return Materialised(device, device_name(device), raw, views, sum(sizes.values()))


def replay(raw: Any, steps: Iterable[Step], dtype: Any) -> Any:
    """The tensor behind the chain of operations that `StridedView.apply` works out without one."""
    tensor = raw
    for name, arguments in steps:
        tensor = _OPERATIONS[name](tensor, dtype, *arguments)
    return tensor


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "view": lambda tensor, dtype, shape: tensor.view(shape),
    "view_dtype": lambda tensor, dtype, itemsize: tensor.view(dtype),
    "slice": lambda tensor, dtype, dim, start, stop: tensor[(slice(None),) * dim + (slice(start, stop),)],
    "select": lambda tensor, dtype, dim, index: tensor.select(dim, index),
    "permute": lambda tensor, dtype, order: tensor.permute(order),
    "transpose": lambda tensor, dtype, first, second: tensor.transpose(first, second),
    "as_strided": lambda tensor, dtype, *numbers: tensor.as_strided(*numbers),
}


def _compare(tensor: Any, want: Wanted, raw: Any) -> None:
    reported = (tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.element_size())
    computed = (want.view.shape, want.view.stride, want.view.storage_offset, want.view.itemsize)
    if reported != computed:
        raise ViewMismatch(f"{want.label}: torch reports {reported}, computed was {computed}")
    if tensor.device.type == "meta":
        return
    start = raw.data_ptr() + want.view.storage_offset * want.view.itemsize
    if tensor.numel() and tensor.data_ptr() != start:
        raise ViewMismatch(f"{want.label}: torch's tensor begins at another byte of the allocation")


def free_bytes(device: str) -> int | None:
    """Free memory of a device in bytes, None where it is not known."""
    if device == "meta":
        return META_BYTES
    if device == "cpu":
        return _free_host_bytes()
    from kvinspect.device.quiet import torch

    return int(torch.cuda.mem_get_info(device)[0])


def _free_host_bytes() -> int | None:
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def blocks_that_fit(device: str, num_blocks: int, total_bytes: int, limit: int | None = None) -> int:
    """How many of `num_blocks` blocks, `total_bytes` together, the device's free memory (or `limit` bytes) takes.

    Raises DeviceError where not even one fits.
    """
    free = free_bytes(device)
    if limit is not None:
        free = limit if free is None else min(free, limit)
    if free is None or total_bytes <= free * HEADROOM:
        return num_blocks
    fit = int(free * HEADROOM) * num_blocks // total_bytes
    if fit < 1:
        block = total_bytes // max(num_blocks, 1)
        raise DeviceError(f"one block takes {block} bytes, and {device} has {free} bytes free")
    return fit


def device_name(device: str) -> str:
    """What a person calls the device."""
    if not device.startswith("cuda"):
        return {"cpu": "host memory", "meta": "no memory"}.get(device, device)
    from kvinspect.device.quiet import torch

    return str(torch.cuda.get_device_name(device))


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
