"""One step of the start-up: what came of it and why, and the vLLM functions of its rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from kvinspect.provenance import sources_of


class Reason(NamedTuple):
    """One step: what came of it and why, and the function of the release whose rule it is."""

    step: str
    text: str
    rule: str


class TakenRule(NamedTuple):
    """A rule that took part in a step: its function, which says what it stands for (`@vllm`)."""

    step: str
    rule: Callable[..., Any]

    def sources(self, release: str) -> Iterator[RuleSource]:
        """Return the vLLM functions that the rule stands for in a release; none where it declares nothing."""
        name = f"{self.rule.__module__}.{self.rule.__qualname__}".removeprefix("kvinspect.")
        for source in sources_of(self.rule):
            if source.covers(release):
                yield RuleSource(self.step, name, source.functions, source.releases)


class RuleSource(NamedTuple):
    """A rule that took part in a step, with the functions that it stands for and the range of releases."""

    step: str
    rule: str
    functions: tuple[str, ...]
    releases: str

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON."""
        return {**self._asdict(), "functions": list(self.functions)}
