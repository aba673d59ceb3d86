"""Where a finding stands: a rule names a path, and the positions of the text have its line and column."""

from __future__ import annotations

from kvinspect.document.finding import Finding
from kvinspect.document.fold import fold_names
from kvinspect.document.problem import Problem
from kvinspect.document.source import Source
from kvinspect.linting.rule import Found, Rule


def finding_at(rule: Rule, found: Found, source: Source) -> Finding:
    """What a rule has found, with the line and the column at which its path stands in the text."""
    placed = source.place(Problem(found.path, at_key=found.at_key, mark=found.mark))
    return Finding(
        code=rule.code,
        name=rule.name,
        severity=rule.severity if found.severity is None else found.severity,
        message=found.message,
        source=source.name,
        path=found.path,
        mark=placed.mark,
        line_text=placed.line_text,
        layers=tuple(fold_names(found.layers)),
    )
