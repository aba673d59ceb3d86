"""The GPUs of this machine, as their driver reports them; torch is not imported."""

from __future__ import annotations

import ctypes
import pathlib
import sys
from typing import Any, NamedTuple

from kvinspect.hardware.gpu import Gpu

MAJOR, MINOR, INTEGRATED = 75, 76, 18
"""Attributes of `cuDeviceGetAttribute`."""

KFD = pathlib.Path("/sys/class/kfd/kfd/topology/nodes")
VRAM = (1, 2)
"""Kinds of KFD's memory banks that are a device's own."""


class LocalGpus(NamedTuple):
    """GPUs of one kind."""

    number: int
    gpu: Gpu


def local_gpus() -> LocalGpus:
    """The GPUs here. Raises ValueError where there is none, or where they differ."""
    found = [*_cuda(), *_rocm()]
    if not found:
        raise ValueError(
            "--gpu local: no driver of this machine reports a GPU; give a name, `kvinspect gpus` lists them"
        )
    if len({(gpu.name, gpu.memory) for gpu in found}) > 1:
        names = ", ".join(dict.fromkeys(gpu.name for gpu in found))
        raise ValueError(f"--gpu local: this machine has GPUs of several kinds ({names}); give the name of one")
    return LocalGpus(len(found), found[0])


def _cuda() -> list[Gpu]:
    """What NVIDIA's driver reports, empty where there is none."""
    try:
        driver = ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
        count = ctypes.c_int(0)
        if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)):
            return []
        return [_cuda_gpu(driver, index) for index in range(count.value)]
    except (OSError, AttributeError):
        return []


def _cuda_gpu(driver: Any, index: int) -> Gpu:
    device, size, value = ctypes.c_int(0), ctypes.c_size_t(0), ctypes.c_int(0)
    name = ctypes.create_string_buffer(256)
    driver.cuDeviceGet(ctypes.byref(device), index)
    driver.cuDeviceGetName(name, 256, device)
    driver.cuDeviceTotalMem_v2(ctypes.byref(size), device)

    def attribute(which: int) -> int:
        driver.cuDeviceGetAttribute(ctypes.byref(value), which, device)
        return value.value

    capability = f"{attribute(MAJOR)}.{attribute(MINOR)}"
    called = name.value.decode("utf-8", "replace")
    return Gpu(called, size.value, "cuda", capability, "the driver", unified=bool(attribute(INTEGRATED)))


def _rocm() -> list[Gpu]:
    """What AMD's kernel driver reports of each node with shader units."""
    found = []
    try:
        for node in sorted(KFD.iterdir()):
            facts = _properties(node / "properties")
            version = facts.get("gfx_target_version", 0)
            size = sum(_bank(bank) for bank in (node / "mem_banks").iterdir()) if version else 0
            if size:
                major, minor, step = version // 10000, version // 100 % 100, version % 100
                gfx = f"gfx{major}{minor:x}{step:x}"
                found.append(Gpu(gfx, size, "rocm", f"{major}.{minor}", "the driver", gfx=gfx))
    except OSError:
        return []
    return found


def _bank(bank: pathlib.Path) -> int:
    facts = _properties(bank / "properties")
    return facts.get("size_in_bytes", 0) if facts.get("heap_type") in VRAM else 0


def _properties(file: pathlib.Path) -> dict[str, int]:
    """The numbers of a file of names and numbers."""
    pairs = (line.split() for line in file.read_text(encoding="ascii", errors="replace").splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}
