"""From a file to a document, or to everything that is wrong with it in one go."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from pydantic_core import ErrorDetails, ValidationError

from kvinspect.document import check
from kvinspect.document.compile import validator
from kvinspect.document.document import Document, build
from kvinspect.document.limits import MAX_PROBLEMS
from kvinspect.document.problem import DocumentError, Path, Problem, nearest, shown
from kvinspect.document.source import Source, read_source


def load(origin: str | pathlib.Path | Mapping[str, Any] | Document, name: str | None = None) -> Document:
    """The document in a YAML or JSON file, on standard input (`-`), or in a mapping.

    `name` stands for the file in messages. Raises DocumentError with every problem that was found.
    """
    if isinstance(origin, Document):
        return origin
    return from_source(read_source(origin, name))


def from_source(source: Source) -> Document:
    """The document that a parsed text holds. Raises DocumentError."""
    if not isinstance(source.value, Mapping):
        found = "nothing" if source.value is None else shown(source.value)
        raise DocumentError([source.place(Problem((), expected="a mapping", found=found))])
    found_problems = list(islice(check.problems(source.value), MAX_PROBLEMS + 1))
    model = None
    try:
        model = validator().validate_python(source.value)
    except ValidationError as error:
        found_problems.extend(islice(_problems(error.errors(include_url=False)), MAX_PROBLEMS + 1))
    if found_problems or model is None:
        raise DocumentError(_in_order(source.placed(_once(found_problems))))
    return build(source, model)


def _problems(errors: Iterable[ErrorDetails]) -> Iterator[Problem]:
    """Pydantic's errors in our words; of the branches of a union, all at one place, one speaks for all."""
    from kvinspect.document.schema import choices, expected, follow

    for error in errors:
        path, node, parent = follow(tuple(error["loc"]))
        if error["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
            known = parent.get("properties", {})
            yield Problem(
                path, message="unknown key", nearest=nearest(str(path[-1]), known), at_key=True, kind="unknown-key"
            )
        elif error["type"] in ("missing_keyword_only_argument", "missing_argument", "missing"):
            yield Problem(path, message="is missing", expected=expected(node), kind="missing")
        elif error["type"] == "less_than_equal":
            yield Problem(path, expected=f"at most {error['ctx']['le']}", found=shown(error["input"]))
        elif error["type"] in ("too_short", "too_long", "string_too_long"):
            yield Problem(path, message=error["msg"].lower(), found=shown(error["input"]))
        else:
            near = nearest(error["input"], choices(node)) if isinstance(error["input"], str) else ""
            yield Problem(path, expected=expected(node), found=shown(error["input"]), nearest=near)


def _once(problems: Iterable[Problem]) -> list[Problem]:
    """One problem a place, the first that was found there; none for a whole of which a part has its own."""
    first: dict[tuple[Path, bool], Problem] = {}
    for problem in problems:
        first.setdefault((problem.path, problem.kind == "misplaced-layer"), problem)
    inside = {path[:i] for path, _ in first for i in range(len(path))}
    return [p for p in first.values() if p.kind != "invalid" or p.path not in inside]


def _in_order(problems: Iterable[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda p: (p.mark.line, p.mark.column) if p.mark else (0, 0))
