"""What a command starts, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Launch(NamedTuple):
    """The words behind `vllm serve`, and what the rest of the command says."""

    words: tuple[str, ...]
    env: Mapping[str, str] = {}
    release: str | None = None
    """That of a container's image."""
    platform: str | None = None
    gpus: int | None = None
    """GPUs that the command lets vLLM see."""
    gpus_said: str = ""
    notes: tuple[str, ...] = ()
    """What of the command is left out, in sentences."""

    def noted(self, *notes: str) -> Launch:
        """The same with further notes."""
        return self._replace(notes=(*self.notes, *notes))
