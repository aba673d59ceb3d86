"""How many bytes a worker has for its KV cache: given exactly, or estimated from the GPU and the weights."""

from __future__ import annotations

import re
from fractions import Fraction
from math import nan
from typing import Any, NamedTuple

from kvinspect.document.numbers import counted
from kvinspect.planning.memory_sum import MemorySum

DEFAULT_UTILISATION = 0.92
"""`--gpu-memory-utilization`, 0.25 to 0.33."""

LEAST_MEMORY = 1 << 20
"""Bytes below which a memory without a unit is taken for a slip."""

_SIZE = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,15})?) *([KMGT]i?B?|[kmgt]B?|B)?")
_UNITS = {"K": 1, "M": 2, "G": 3, "T": 4}


class Band(NamedTuple):
    """Bytes between which the memory lies in nine of ten start-ups."""

    low: int
    high: int


class Memory(NamedTuple):
    """Bytes for the cache of one worker; `how` says where they come from, and `exact` whether they were given."""

    size: int
    how: str
    exact: bool = True
    gpu: int | None = None
    """Bytes of the GPU, where they are given."""
    gpu_name: str = ""
    """Its name, where it is given; `vllm serve` looks for some in it."""

    band: Band | None = None
    """None where the memory is given, and where too little is known for a band."""
    weights: int | None = None
    """Bytes of weights on the worker, of an estimate."""
    terms: tuple[tuple[str, int], ...] = ()
    """Bytes that a start-up sets aside beside them, by what they are for."""
    sum: MemorySum | None = None
    """The terms of an estimate."""

    @property
    def range(self) -> tuple[int | None, int, int | None]:
        """(low, estimate, high) in bytes: all equal where the memory is given, no ends where no band is known."""
        if self.exact:
            return self.size, self.size, self.size
        return (self.band.low, self.size, self.band.high) if self.band else (None, self.size, None)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON writes it; a GPU's name is there where it is known."""
        low, middle, high = self.range
        named = {"gpu_name": self.gpu_name} if self.gpu_name else {}
        return {
            "size": self.size,
            "how": self.how,
            "exact": self.exact,
            "gpu": self.gpu,
            **named,
            "available_bytes": {"low": low, "estimate": middle, "high": high},
            "weights_bytes": self.weights,
            "terms": dict(self.terms),
        }


def parse_size(text: str) -> int:
    """Bytes of `12.57GiB`, `60GB` (decimal), `60G` (binary) or a plain number. Raises ValueError.

    >>> parse_size("12.57GiB"), parse_size("1.5 GB"), parse_size("512M")
    (13496934727, 1500000000, 536870912)
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError(f"expected a size such as 12.57GiB, 60GB or a number of bytes, found {text!r}")
    number, unit = match[1], (match[2] or "B").upper()
    if unit == "B":
        if "." in number:
            raise ValueError(f"expected whole bytes, found {text!r}")
        return int(number)
    decimal = unit.endswith("B") and "I" not in unit
    return int(Fraction(number) * (1000 if decimal else 1024) ** _UNITS[unit[0]])


def parse_memory(text: str) -> int:
    """Like `parse_size`, for a device's memory: a few bytes are a unit forgotten. Raises ValueError."""
    size = parse_size(text)
    if size < LEAST_MEMORY and text.strip().isdigit() and size > 0:
        raise ValueError(f"{counted(int(text), 'byte')} of memory cannot hold a model; did you mean {text.strip()}GiB?")
    return size


def parse_utilisation(value: object) -> float:
    """The share of a GPU that the engine may use. Raises ValueError for what is not above 0 and up to 1."""
    try:
        share = float(str(value))
    except ValueError:
        share = nan
    if not 0 < share <= 1:
        raise ValueError(f"gpu_memory_utilization: expected a number above 0 and up to 1, found {value}")
    return share
