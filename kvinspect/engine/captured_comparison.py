"""What a captured cache has otherwise than the computed one, as values."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvinspect.document.fold import fold_names


class Difference(NamedTuple):
    """What the engine made otherwise than it was computed, in the same words for both; no layers: the whole."""

    what: str
    computed: str
    captured: str
    layer_names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The difference as a sentence."""
        layers = ", ".join(fold_names(list(self.layer_names)))
        return f"{self.what}{' of ' if layers else ''}{layers}: computed {self.computed}, captured {self.captured}"

    def to_dict(self) -> dict[str, Any]:
        """The difference as JSON."""
        return {**self._asdict(), "layer_names": list(self.layer_names)}


class CapturedComparison(NamedTuple):
    """A computed cache beside a captured one; `why_not` says why they were not compared."""

    vllm: str
    num_layers: int = 0
    differences: tuple[Difference, ...] = ()
    why_not: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The comparison as JSON."""
        return {
            "vllm": self.vllm,
            "compared": not self.why_not,
            "why_not": self.why_not or None,
            "num_layers": self.num_layers,
            "differences": [found.to_dict() for found in self.differences],
        }
