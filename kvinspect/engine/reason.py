"""One step of the start-up: what came of it and why, and the vLLM functions of its rules."""

from __future__ import annotations

from typing import Any, NamedTuple


class Reason(NamedTuple):
    """One step: what came of it and why, and the function of the release whose rule it is."""

    step: str
    text: str
    rule: str


class RuleSource(NamedTuple):
    """A rule that took part in a step, with the functions that it stands for and the range of releases."""

    step: str
    rule: str
    functions: tuple[str, ...]
    releases: str

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON."""
        return {**self._asdict(), "functions": list(self.functions)}
