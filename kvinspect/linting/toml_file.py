"""A TOML file as a table, with the lines that its keys stand on."""

from __future__ import annotations

import pathlib
import re
import tomllib
from collections.abc import Iterable
from typing import Any, NamedTuple

from kvinspect.document.files import printable, read_bounded, text_of
from kvinspect.document.limits import MAX_DEPTH, MAX_PROBLEMS, MAX_SETTINGS_BYTES
from kvinspect.document.problem import DocumentError, Mark, Problem

_PART = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_DEEP_KEY = re.compile(rf"(?<![\w-]){_PART}(?:[ \t]*+\.[ \t]*+{_PART}){{{MAX_DEPTH}}}")
"""A key of more parts than a file may have levels: the parser takes the square of their number."""

_KEY = re.compile(rf"\s*+(?:\[\s*+(?:tool\s*+\.\s*+kvinspect\s*+\.\s*+)?)?({_PART})\s*+[=.\]]")
"""What a line sets, or what table it heads."""


class TomlFile(NamedTuple):
    """A parsed file and its text."""

    name: str
    text: str
    table: dict[str, Any]

    def error(self, problems: Iterable[Problem]) -> DocumentError:
        """The problems as an error, each on the line that sets its key."""
        # One more than are shown, so that the error says that there are more.
        few = list(problems)[: MAX_PROBLEMS + 1]
        lines = self.text.splitlines()
        keys = _lines_of_keys(lines)
        return DocumentError(self._placed(problem, lines, keys) for problem in few)

    def _placed(self, problem: Problem, lines: list[str], keys: dict[str, int]) -> Problem:
        number = _line_of(tuple(map(str, problem.path)), lines, keys) if problem.path else None
        if number is None:
            return problem._replace(source=self.name)
        return problem.placed(self.name, Mark(number + 1, 1), lines[number])


def read_toml(path: pathlib.Path) -> TomlFile:
    """The file at a path. Raises DocumentError where it cannot be read, or is too large, too deep or no TOML."""
    name = printable(path)
    text = text_of(read_bounded(path, MAX_SETTINGS_BYTES, "settings"), name)
    deep = _DEEP_KEY.search(text)
    if deep is not None:
        raise _too_deep(name, Mark(text.count("\n", 0, deep.start()) + 1, 1))
    try:
        return TomlFile(name, text, tomllib.loads(text))
    except RecursionError:
        raise _too_deep(name, None) from None
    except ValueError as error:
        # A ValueError of another class is a number of more digits than Python reads.
        place = re.search(r"line (\d+), column (\d+)", str(error))
        mark = Mark(int(place[1]), int(place[2])) if place else None
        raise DocumentError([Problem((), message=f"not valid TOML: {error}", source=name, mark=mark)]) from None


def _too_deep(name: str, mark: Mark | None) -> DocumentError:
    expected = f"at most {MAX_DEPTH} levels of tables and lists"
    return DocumentError([Problem((), expected=expected, found="more", kind="limit", source=name, mark=mark)])


def _lines_of_keys(lines: list[str]) -> dict[str, int]:
    """Key → the number, from 0 on, of the first line that sets it or heads its table."""
    found: dict[str, int] = {}
    for number, line in enumerate(lines):
        key = _KEY.match(line)
        if key is not None:
            found.setdefault(key[1].strip("\"'"), number)
    return found


def _line_of(path: tuple[str, ...], lines: list[str], keys: dict[str, int]) -> int | None:
    """The number of the line of a key, or of a table's entry behind its head."""
    first = keys.get(path[0])
    if first is None or len(path) == 1:
        return first
    entry = re.escape(path[1])
    inside = re.compile(rf"(?:\s*+|.*[{{,.]\s*+)(?:{entry}|\"{entry}\"|'{entry}')\s*+=")
    return next((i for i in range(first, len(lines)) if inside.match(lines[i])), first)
