"""A single change of a call, and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Verdict = Literal["fits", "tight", "does not fit"]


class Change(NamedTuple):
    """A single change of a call: flags behind those that are there, or another model in place of the one named."""

    flags: str
    arguments: Mapping[str, Any] = {}
    model: str = ""


class WouldFit(NamedTuple):
    """A change with which a model fits, or at least may (`tight`)."""

    change: Change
    verdict: Verdict
    requests: tuple[float, float]
    """Requests at once at both ends of the band: of the greatest length, or of the shape that is asked about."""
    max_model_len: int

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON; `requests` are those at once, of `max_model_len` tokens unless a shape was asked about."""
        low, high = self.requests
        return {
            "flags": self.change.flags,
            "model": self.change.model or None,
            "verdict": self.verdict,
            "requests": {"low": low, "high": high},
            "max_model_len": self.max_model_len,
        }
