"""What is wrong with a file, as the findings of the rules for it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvinspect.document.finding import Finding
from kvinspect.document.problem import Problem
from kvinspect.linting.registry import rule_named

RULE_OF = {
    "misplaced-layer": "KV107",
    "unknown-release": "KV002",
    "unknown-dtype": "KV204",
    "intricate": "KV104",
}
"""Kind of a problem → the rule that stands for it; KV001 for the others."""

UNJUDGED = (
    "unknown-release",
    "unknown-backend",
    "unknown-dtype",
    "unknown-word",
    "unknown-architecture",
    "unknown-runner",
    "unreadable",
    "unknown-kind",
    "unknown-page",
    "raw-pages",
    "intricate",
    "limit",
    "fault",
    "settings",
)
"""The kinds after which nothing can be said about the file."""


def as_findings(problems: Iterable[Problem]) -> Iterator[Finding]:
    """Placed problems as findings."""
    for problem in problems:
        rule = rule_named(RULE_OF.get(problem.kind, "KV001"))
        yield Finding(
            code=rule.code,
            name=rule.name,
            severity=rule.severity,
            message=problem.text,
            source=problem.source,
            path=problem.path,
            mark=problem.mark,
            line_text=problem.line_text,
            unjudged=problem.kind in UNJUDGED,
        )
