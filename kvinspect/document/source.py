"""A file, standard input or a mapping as a value whose parts can be found again in the text."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from kvinspect.document.limits import MAX_BYTES, MAX_YAML_BYTES
from kvinspect.document.problem import DocumentError, Mark, Path, Problem


class Positions(Protocol):
    """Finds the place of a path in a text."""

    def locate(self, path: Path, at_key: bool) -> Mark | None:
        """The mark of the value at `path` (or of its key), or of the nearest parent that is there."""


class Source(NamedTuple):
    """A parsed text: its name for messages, its value, and the means to find positions in it."""

    name: str
    value: Any
    text: str = ""
    positions: Positions | None = None

    def locate(self, path: Path, at_key: bool = False) -> Mark | None:
        """The mark of `path`, None where the value came without a text."""
        return self.positions.locate(path, at_key) if self.positions else None

    def place(self, problem: Problem) -> Problem:
        """The problem with its file, line and column."""
        mark = problem.mark or self.locate(problem.path, problem.at_key)
        return problem.placed(self.name, mark, line_of(self.text, mark))


def line_of(text: str, mark: Mark | None) -> str:
    """The line of a mark, "" where there is none."""
    if mark is None:
        return ""
    lines = text.splitlines()
    return lines[mark.line - 1] if 0 < mark.line <= len(lines) else ""


def read_source(origin: str | pathlib.Path | Mapping[str, Any], name: str | None = None) -> Source:
    """Read a path, `-` for standard input, or take a mapping as it is.

    Raises DocumentError where the file is not there, not text, too large, or no YAML or JSON.
    """
    if isinstance(origin, Mapping):
        return Source(name or "<document>", dict(origin))
    label = name or ("<stdin>" if str(origin) == "-" else str(origin))
    return parse(_text_of(_bytes_of(str(origin), label), label), label)


def parse(text: str, name: str) -> Source:
    """The value of a YAML or JSON text: JSON where the name ends so, or where it begins like JSON and no name says."""
    suffix = pathlib.PurePath(name).suffix.lower()
    looks_json = suffix not in (".yaml", ".yml") and text.lstrip()[:1] in ("{", "[")
    try:
        value, positions = _parse_json(text) if suffix == ".json" or looks_json else _parse_yaml(text)
    except DocumentError as error:
        raise DocumentError(p.placed(name, p.mark, line_of(text, p.mark)) for p in error.errors) from None
    return Source(name, value, text, positions)


def _parse_json(text: str) -> tuple[Any, Positions]:
    from kvinspect.document.json_text import parse_json

    return parse_json(text)


def _parse_yaml(text: str) -> tuple[Any, Positions]:
    from kvinspect.document.yaml_text import parse_yaml

    if len(text) > MAX_YAML_BYTES:
        raise DocumentError([_too_large(MAX_YAML_BYTES, "YAML")])
    return parse_yaml(text)


def _too_large(limit: int, what: str) -> Problem:
    return Problem((), expected=f"at most {limit} bytes of {what}", found="more", kind="limit")


def _bytes_of(origin: str, label: str) -> bytes:
    try:
        if origin == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(origin, "rb") as file:
                data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise _failed(label, Problem((), message=f"cannot be read: {reason}", kind="unreadable")) from None
    if len(data) > MAX_BYTES:
        raise _failed(label, _too_large(MAX_BYTES, "text"))
    return data


def _text_of(data: bytes, label: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start]
        line = before.count(b"\n") + 1
        column = len(before.rsplit(b"\n", 1)[-1].decode("utf-8", "replace")) + 1
        found = f"the byte 0x{data[error.start]:02x}"
        problem = Problem((), expected="text in UTF-8", found=found, mark=Mark(line, column), kind="syntax")
        raise _failed(label, problem) from None


def _failed(label: str, problem: Problem) -> DocumentError:
    return DocumentError([problem.placed(label, problem.mark, "")])
