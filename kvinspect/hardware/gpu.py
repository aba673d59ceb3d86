"""One GPU: its name, its memory and what vLLM asks of it."""

from __future__ import annotations

from typing import Any, NamedTuple


class Gpu(NamedTuple):
    """One GPU. `memory` is in bytes, as CUDA or ROCm reports it, which is less than the data sheet says."""

    name: str
    memory: int
    platform: str
    capability: str
    source: str
    gfx: str = ""
    unified: bool = False
    """Whether the memory is the host's as well."""
    aliases: tuple[str, ...] = ()

    @property
    def gib(self) -> float:
        """The memory in GiB."""
        return round(self.memory / (1 << 30), 2)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON writes it."""
        return {
            "name": self.name,
            "memory_bytes": self.memory,
            "memory_gib": self.gib,
            "platform": self.platform,
            "device_capability": self.capability,
            "gfx": self.gfx,
            "unified_memory": self.unified,
            "aliases": list(self.aliases),
            "source": self.source,
        }
