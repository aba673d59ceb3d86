"""What the rules of a kind find in a subject, at the places of its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from kvinspect.document.finding import Finding
from kvinspect.document.problem import Path
from kvinspect.document.source import Source
from kvinspect.linting.positions import finding_at
from kvinspect.linting.registry import all_rules
from kvinspect.linting.rule import Check, Kind, Rule

if TYPE_CHECKING:
    from kvinspect.question.model import ModelQuestion


def _as_it_stands(path: Path) -> Path:
    return path


def checked(
    subject: Any, kind: Kind, source: Source, place: Callable[[Path], Path] = _as_it_stands
) -> Iterator[Finding]:
    """The findings of the rules of a kind."""
    for rule, check in _rules(kind):
        for found in check(subject):
            yield finding_at(rule, found._replace(path=place(found.path)), source)


def of_model(source: Source, ask: Callable[[], ModelQuestion]) -> Iterator[Finding]:
    """The findings about a model and its cache, at the flags that the source holds. Raises DocumentError."""
    from kvinspect.linting.subjects.model_config import ModelFile, subjects

    file = ModelFile(source)
    about, cache = subjects(file, ask)
    yield from checked(about, "model", source, file.place)
    yield from checked(cache, "document", source, file.place)


@cache
def _rules(kind: Kind) -> tuple[tuple[Rule, Check], ...]:
    """The rules that check something of a kind, and how."""
    return tuple((rule, check) for rule in all_rules() if (check := rule.check_of(kind)) is not None)
