"""`[tool.kvinspect]` of the nearest pyproject.toml, or the nearest kvinspect.toml, from a file upward."""

from __future__ import annotations

import os
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatch
from functools import cache
from typing import Any, NamedTuple

from kvinspect.document.files import is_elsewhere, printable
from kvinspect.document.finding import Severity
from kvinspect.document.limits import MAX_SETTINGS
from kvinspect.document.problem import DocumentError, Problem, nearest, shown
from kvinspect.document.refusal import Unknown
from kvinspect.document.source import FOUND_BY_LINK, unquoted
from kvinspect.linting.registry import UnknownRule, rule_named, selected
from kvinspect.linting.toml_file import TomlFile, read_toml
from kvinspect.releases import lookup

SEVERITIES = {severity.word: severity for severity in Severity}
PLATFORMS = ("cuda", "rocm", "xpu", "cpu")


class Settings(NamedTuple):
    """What a configuration file says; the command line wins over it."""

    folder: pathlib.Path = pathlib.Path()
    """Of the configuration file; the globs of `per_file_ignores` begin there."""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = {}
    severity: Mapping[str, Severity] = {}
    engine: str | None = None
    platform: str | None = None
    device_capability: str | None = None
    fail_on: Severity = Severity.WARNING
    baseline: str | None = None

    @property
    def baseline_file(self) -> str | None:
        """The baseline, which is named from the folder of the configuration file on."""
        return None if self.baseline is None else str(self.folder / self.baseline)

    def codes(self, source: str) -> frozenset[str]:
        """The rules that are on for a file."""
        ignored = self._ignored_in(source) if self.per_file_ignores else ()
        return selected(self.select, (*self.ignore, *ignored))

    def _ignored_in(self, source: str) -> Iterator[str]:
        path = pathlib.Path(os.path.realpath(source))
        inside = path.relative_to(self.folder).as_posix() if path.is_relative_to(self.folder) else path.as_posix()
        for glob, words in self.per_file_ignores.items():
            if fnmatch(inside, glob) or fnmatch(path.name, glob):
                yield from words


@cache
def settings_for(folder: pathlib.Path) -> Settings:
    """The settings for files in a folder. Raises DocumentError where the configuration file is wrong."""
    for parent in (folder, *folder.parents):
        found = _in_folder(parent)
        if found is not None:
            return found
    return Settings()


def _in_folder(folder: pathlib.Path) -> Settings | None:
    for path in filter(os.path.isfile, (folder / "kvinspect.toml", folder / "pyproject.toml")):
        try:
            if path.name != "pyproject.toml" or "kvinspect" in _tools(read_toml(path)):
                return read_settings(path)
        except DocumentError as error:
            # Whoever wrote the link chose the file, which may be readable to nobody but the user of this call.
            if is_elsewhere(path, folder):
                raise DocumentError([unquoted(error.errors[0], printable(path), FOUND_BY_LINK)]) from None
            raise
    return None


def _tools(file: TomlFile) -> Mapping[str, Any]:
    table = file.table.get("tool", {})
    return table if isinstance(table, dict) else {}


def read_settings(path: pathlib.Path) -> Settings:
    """The settings of a configuration file. Raises DocumentError with every key that is wrong."""
    file = read_toml(path)
    table = file.table if path.name != "pyproject.toml" else _tools(file).get("kvinspect", {})
    if not isinstance(table, dict):
        raise file.error([Problem((), message=f"tool.kvinspect is no table but {shown(table)}")])
    if _size(table) > MAX_SETTINGS:
        raise file.error([Problem((), expected=f"at most {MAX_SETTINGS} settings", found="more", kind="limit")])
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for key, value in table.items():
        try:
            values[key.replace("-", "_")] = _read(key, value)
        except WrongEntry as error:
            problems.append(error.problem)
    if problems:
        raise file.error(problems)
    return Settings(folder=path.parent.resolve(), **values)


def _size(value: Any) -> int:
    """How many values there are in a table, whatever their depth."""
    count, left = 0, [value]
    while left and count <= MAX_SETTINGS:
        one = left.pop()
        count += 1
        left += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return count


def _read(key: str, value: Any) -> Any:
    """What a key sets. Raises WrongEntry."""
    reader = _READERS.get(key)
    if reader is None:
        near = nearest(key, _READERS)
        raise WrongEntry(Problem((key,), message="unknown key", nearest=near, kind="unknown-key"))
    try:
        return reader(value)
    except WrongEntry as error:
        raise WrongEntry(error.problem._replace(path=(key, *error.problem.path))) from None
    except (ValueError, TypeError) as error:
        raise WrongEntry(Problem((key,), message=str(error))) from None


class WrongEntry(ValueError):
    """A key or an entry of a table that is wrong."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.text)
        self.problem = problem


def _words(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ValueError(f"expected a list of words, found {shown(value)}")
    return tuple(value)


def _rules(value: Any) -> tuple[str, ...]:
    words = _words(value)
    selected(words, ())
    return words


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"expected a word, found {shown(value)}")
    return value


def _release(value: Any) -> str:
    word = _word(value)
    try:
        lookup.known(word)
    except Unknown as unknown:
        raise ValueError(unknown.problem.text) from None
    return word


def _capability(value: Any) -> str:
    word = str(value) if isinstance(value, float) else _word(value)
    if not re.fullmatch(r"[0-9]{1,2}\.[0-9]", word):
        raise ValueError(f"expected a compute capability such as 9.0, found {shown(value)}")
    return word


def one_of(value: Any, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    """The word, if it is a known one. Raises ValueError."""
    if value not in known:
        near = nearest(value, known) if isinstance(value, str) else ""
        hint = f"; did you mean {near}?" if near else ""
        raise ValueError(f"expected one of {', '.join(known)}, found {shown(value)}{hint}")
    return str(value)


def _severities(value: Any) -> dict[str, Severity]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table of rules, found {shown(value)}")
    return {_in(word, rule_named, word).code: _in(word, _severity, level) for word, level in value.items()}


def _severity(value: Any) -> Severity:
    return SEVERITIES[one_of(value, SEVERITIES)]


def _in(key: str, read: Callable[[Any], Any], value: Any) -> Any:
    """What a reader makes of an entry of a table. Raises WrongEntry where it takes no such value."""
    try:
        return read(value)
    except (ValueError, TypeError) as error:
        raise WrongEntry(Problem((key,), message=str(error))) from None


def _ignores(value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table of globs, found {shown(value)}")
    return {glob: _in(glob, _rules, words) for glob, words in value.items()}


_READERS: dict[str, Any] = {
    "select": _rules,
    "ignore": _rules,
    "per-file-ignores": _ignores,
    "severity": _severities,
    "engine": _release,
    "platform": lambda value: one_of(value, PLATFORMS),
    "device-capability": _capability,
    "fail-on": _severity,
    "baseline": _word,
}

__all__ = ["PLATFORMS", "SEVERITIES", "Settings", "UnknownRule", "one_of", "read_settings", "settings_for"]
