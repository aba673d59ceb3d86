"""What a rule is, and what its check yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from kvinspect.document.finding import Severity
from kvinspect.document.frozen import Frozen
from kvinspect.document.problem import Mark, Path

NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR

Kind = Literal["document", "serve", "command", "place", "model", "file"]
"""What a rule looks at: a document, flags of `vllm serve` wherever they stand, those of a `--config` file or a command
alone, a place of engine arguments with what is around it, a model, or any file as a text (no check then)."""


class Found(NamedTuple):
    """What a check found: the entry to change, a line, and the layers that it is about."""

    path: Path
    message: str
    layers: Sequence[str] = ()
    at_key: bool = False
    mark: Mark | None = None
    """Where the path does not lead to the place."""
    severity: Severity | None = None
    """Where it is not as bad as the rule says."""


Check = Callable[[Any], Iterator[Found]]


def _nothing(subject: Any) -> Iterator[Found]:
    return iter(())


class Rule(NamedTuple):
    """A rule. Its code never changes meaning."""

    code: str
    name: str
    severity: Severity
    summary: str
    check: Check = _nothing
    kind: Kind = "document"
    also: Mapping[Kind, Check] = Frozen()
    """Checks of what else it looks at, beside `check` of its own kind."""
    releases: str = "all"
    """The releases in which it can be found."""

    def check_of(self, kind: Kind) -> Check | None:
        """What it checks of a kind, None where it is not about that."""
        return self.check if kind == self.kind else self.also.get(kind)
