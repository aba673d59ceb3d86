"""Which device to use: what was asked for, and what the machine has, asked of the driver before torch is imported."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from typing import NamedTuple

NVIDIA_NODES = ("/dev/nvidiactl", "/dev/nvidia0", "/dev/dxg", "/dev/nvhost-gpu", "/dev/nvgpu")
"""What a driver that has a device puts there: a server's, Windows' subsystem for Linux, and Tegra's."""

WORDS = "auto, cuda, cuda:N, cpu, meta or none"


NONE = "none"
"""The word for no device, and its name."""


class DeviceError(Exception):
    """The device was asked for and is not there, or has too little memory."""


class UnknownDevice(ValueError):
    """A word that names no device."""


class DeviceChoice(NamedTuple):
    """A device as torch names it, or NONE with the reason, where nothing is materialised."""

    name: str
    reason: str = ""


NOT_REQUESTED = DeviceChoice(NONE, "not requested")


def choose(word: str) -> DeviceChoice:
    """The device for a word of the command line.

    `auto` is CUDA (ROCm builds of torch count as CUDA) where torch finds it, else none. Raises UnknownDevice for a
    word that is none of these, DeviceError where the device is not there.
    """
    if not re.fullmatch(r"auto|none|cpu|meta|cuda(:\d{1,3})?", word):
        raise UnknownDevice(f"expected {WORDS}, found {word!r}")
    if word == "none":
        return NOT_REQUESTED
    if word == "auto":
        return _automatic()
    if not _has_torch():
        raise DeviceError(f"--device {word} needs torch, which is not installed; pip install torch")
    return _cuda(word) if word.startswith("cuda") else DeviceChoice(word)


def _automatic() -> DeviceChoice:
    if not driver_has_device():
        return DeviceChoice("none", "no accelerator on this machine")
    if not _has_torch():
        return DeviceChoice("none", "torch is not installed")
    try:
        return _cuda("cuda")
    except DeviceError as error:
        return DeviceChoice("none", str(error))


def _cuda(word: str) -> DeviceChoice:
    from kvinspect.device.quiet import torch

    if not torch.cuda.is_available():
        raise DeviceError("torch finds no CUDA or ROCm device")
    index = int(word.partition(":")[2] or torch.cuda.current_device())
    if index >= torch.cuda.device_count():
        raise DeviceError(f"there is no {word}; torch finds {torch.cuda.device_count()} device(s)")
    return DeviceChoice(f"cuda:{index}")


def _has_torch() -> bool:
    return "torch" in sys.modules or importlib.util.find_spec("torch") is not None


def driver_has_device() -> bool:
    """Whether a CUDA or ROCm driver reports a device; costs a few milliseconds and no torch."""
    return _cuda_devices() > 0 or _rocm_devices() > 0


def _cuda_devices() -> int:
    """Devices that NVIDIA's driver counts, 0 where there is no driver."""
    if sys.platform == "linux" and not any(map(os.path.exists, NVIDIA_NODES)):
        return 0
    import ctypes

    name = "nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1"
    try:
        driver = ctypes.CDLL(name)
        count = ctypes.c_int(0)
        started = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0
    except (OSError, AttributeError):
        return 0
    return count.value if started else 0


def _rocm_devices() -> int:
    """Devices that AMD's kernel driver offers to this user: one render node each."""
    if not os.access("/dev/kfd", os.R_OK | os.W_OK):
        return 0
    try:
        return sum(name.startswith("renderD") for name in os.listdir("/dev/dri"))
    except OSError:
        return 0
