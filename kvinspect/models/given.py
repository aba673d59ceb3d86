"""Values of engine arguments as people give them: JSON from a command line or a file, mappings from a program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from kvinspect.document.json_text import parse_json
from kvinspect.document.limits import MAX_DEPTH, MAX_INT, MAX_VALUES
from kvinspect.document.numbers import human_number
from kvinspect.document.problem import DocumentError, Path, Problem
from kvinspect.models.dotted import warn_of_repeated

SOURCE = "<engine arguments>"
"""What the arguments are called in messages."""

OBJECTS = ("hf-overrides", "additional-config", "model-loader-extra-config")
"""Flags that take a JSON object besides those whose type in the catalogue is JSON."""

_SHORT_NUMBER = re.compile(r"(?<=[:,\[\s])\d{1,18}(?:\.\d{1,9})?[kKmMgGtT](?=[\s,\]}])")


def json_of(name: str, text: str) -> Any:
    """The value of a flag's JSON, in which the engine also reads numbers such as 80m. Raises DocumentError."""
    try:
        return _parsed(name, text)
    except DocumentError as error:
        try:
            return _parsed(name, _SHORT_NUMBER.sub(lambda found: str(human_number(found[0])), text))
        except ValueError:
            raise error from None


def _parsed(name: str, text: str) -> Any:
    try:
        value, _, repeated = parse_json(text)
    except DocumentError as error:
        raise DocumentError(_of_flag(name, problem) for problem in error.errors) from None
    warn_of_repeated(name, [problem.path for problem in repeated])
    return value


def _of_flag(name: str, problem: Problem) -> Problem:
    """The problem under the flag's name; a place in a word is a character of it."""
    character = f" at character {problem.mark.column}" if problem.mark and problem.mark.line == 1 else ""
    message = f"{problem.message}{character}" if problem.message else ""
    path = (name.replace("-", "_"), *problem.path)
    return problem._replace(path=path, message=message, mark=None, source=SOURCE)


def unusable(written: Mapping[str, Any]) -> Iterator[Problem]:
    """A problem for each argument that no JSON could have given: too deep or large, not finite, or no text in UTF-8."""
    for name, value in written.items():
        problem = _first((name,), value)
        if problem is not None:
            yield problem._replace(source=SOURCE)


def _first(path: Path, value: Any) -> Problem | None:
    """The first thing that is wrong in a value, level by level: what contains itself has too many levels."""
    level, count = [(path, value)], 0
    for _ in range(MAX_DEPTH):
        count += len(level)
        if count > MAX_VALUES:
            return Problem(path, expected=f"at most {MAX_VALUES} values", found="more", kind="limit")
        problem = next((found for found in (_of_value(*item) for item in level) if found), None)
        if problem is not None or not level:
            return problem
        level = [inner for item in level for inner in _inner(*item)]
    found = "more" if level else ""
    return Problem(path, expected=f"at most {MAX_DEPTH} levels of lists and objects", found=found, kind="limit")


def _inner(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping):
        yield from (((*path, key if isinstance(key, str) else str(key)), inner) for key, inner in value.items())
    elif isinstance(value, (list, tuple)):
        yield from (((*path, i), inner) for i, inner in enumerate(value))


def _of_value(path: Path, value: Any) -> Problem | None:
    if isinstance(value, float) and not isfinite(value):
        return Problem(path, expected="a finite number", found=str(value))
    if isinstance(value, int) and abs(value) > MAX_INT:
        return Problem(path, expected=f"a number of at most {MAX_INT}", found="a larger one", kind="limit")
    if any(isinstance(text, str) and not _is_text(text) for text in (value, path[-1])):
        return Problem(tuple(map(_readable, path)), expected="text in UTF-8", found="bytes that are none")
    return None


def _is_text(text: str) -> bool:
    return text.isascii() or not _SURROGATE.search(text)


def _readable(part: str | int) -> str | int:
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", part) if isinstance(part, str) else part


_SURROGATE = re.compile("[\ud800-\udfff]")
