"""Which functions of vLLM a rule stands for, and in which releases.

A rule says so where it is defined:

    @vllm("GPUModelRunner._reshape_kv_cache_tensors", until="0.28")
    def view_of(...): ...

`tests/test_provenance.py` holds each declaration against the release modules and against the functions that each vLLM
release has; `--explain`, `docs/provenance.md` and the conformance run read it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

Rule = TypeVar("Rule", bound=Callable[..., Any])

FIRST = "0.25"
"""The oldest release that is modeled."""


class Source(NamedTuple):
    """The origin of a rule."""

    functions: tuple[str, ...]
    """Names as vLLM has them: `function`, or `Class.method`."""
    since: str
    """The first release, major and minor, in which vLLM does so."""
    until: str | None
    """The last release in which vLLM does so; None for the newest and for those to come."""

    @property
    def releases(self) -> str:
        """The range as people read it: `0.25–0.28`, `0.29+`, `0.30`."""
        if self.until is None:
            return f"{self.since}+"
        return self.since if self.since == self.until else f"{self.since}–{self.until}"

    def covers(self, release: str) -> bool:
        """Whether a release, major and minor, is within the range."""
        last = _number(self.until) if self.until else _number(release)
        return _number(self.since) <= _number(release) <= last


RULES: list[Callable[..., Any]] = []
"""The rules of all modules that have been imported, in the order of their definition."""


def vllm(*functions: str, since: str = FIRST, until: str | None = None) -> Callable[[Rule], Rule]:
    """Declare which vLLM functions a rule stands for, and the first and the last release in which it does.

    A rule whose functions were renamed has a declaration for each range of releases, the oldest on top.
    """
    source = Source(functions, since, until)

    def declared(rule: Rule) -> Rule:
        """The rule itself, which carries the declaration from here on."""
        if not sources_of(rule):
            RULES.append(rule)
        rule.__vllm__ = (source, *sources_of(rule))  # type: ignore[attr-defined]
        return rule

    return declared


def sources_of(rule: Callable[..., Any]) -> tuple[Source, ...]:
    """Return what a rule declares, the oldest releases first; empty where it declares nothing."""
    found: tuple[Source, ...] = getattr(rule, "__vllm__", ())
    return found


def _number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:2])
