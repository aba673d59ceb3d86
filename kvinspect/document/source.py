"""A file, standard input or a mapping as a value whose parts can be found again in the text."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from kvinspect.document.files import printable, read_bounded, read_standard_input, text_of, too_large
from kvinspect.document.frozen import frozen
from kvinspect.document.limits import MAX_BYTES, MAX_DEPTH, MAX_MAPPING_VALUES, MAX_YAML_BYTES
from kvinspect.document.line_ends import JSON_LINE_END, YAML_LINE_END, Comment
from kvinspect.document.positions import Positions, line_of
from kvinspect.document.problem import DocumentError, Mark, Path, Problem


def _no_comments(text: str) -> Iterable[Comment]:
    return ()


class Source(NamedTuple):
    """A parsed text: its name for messages, its value, and the means to find positions in it."""

    name: str
    value: Any
    text: str = ""
    positions: Positions | None = None
    line_end: re.Pattern[str] = JSON_LINE_END
    repeated: tuple[Problem, ...] = ()
    """A problem for each key that stands twice, where that was let pass."""
    comments: Callable[[str], Iterable[Comment]] = _no_comments
    """The comments of the text; JSON has none."""

    private: str = ""
    """Why messages leave out what stands in it, "" where they quote it."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Source) and self._said == other._said

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.name, self.text or frozen(self.value)))

    @property
    def _said(self) -> tuple[Any, ...]:
        """All but the means to find positions, which follow from the text."""
        return self.name, self.value, self.text, self.private

    def locate(self, path: Path, at_key: bool = False) -> Mark | None:
        """The mark of `path`, None where the value came without a text."""
        return self.positions.locate(path, at_key) if self.positions else None

    def written(self, path: Path) -> str | None:
        """The plain text of a scalar, None where it was quoted or came without a text."""
        return self.positions.written(path) if self.positions else None

    def place(self, problem: Problem) -> Problem:
        """The problem with its file, line and column."""
        return self.placed([problem])[0]

    def placed(self, problems: Iterable[Problem]) -> list[Problem]:
        """Problems with their file, lines and columns."""
        if self.private:
            return [unquoted(problem, self.name, self.private) for problem in problems]
        found = [(problem, problem.mark or self.locate(problem.path, problem.at_key)) for problem in problems]
        lines = self.line_end.split(self.text) if found else []
        return [problem.placed(self.name, mark, line_of(lines, mark)) for problem, mark in found]


NAMED_BY_INPUT = (
    "an input file names it by a path that leads out of its folder or through a link; `kvinspect plan {name}` tells "
    "what is wrong"
)
FOUND_BY_LINK = (
    "a link leads to it out of the folder in which it was found; a call that names {name} itself tells what is wrong"
)
"""Why nothing of a file is quoted (`leads_out`, `is_elsewhere`): whoever wrote the input or the link chose the file."""


def unquoted(problem: Problem, name: str, why: str) -> Problem:
    """The problem of a file without a word of the file."""
    message = f"cannot be used; {because(why, name)}"
    return Problem((), message=message, kind=problem.kind, source=name)


def because(why: str, name: str) -> str:
    """The clause that stands in place of what a file says."""
    return f"its content is not quoted, because {why.format(name=name)}"


def read_source(
    origin: str | pathlib.Path | Mapping[str, Any], name: str | None = None, loose: bool = False, private: str = ""
) -> Source:
    """Read a path, `-` for standard input, or take a mapping as it is.

    Messages quote nothing of a `private` file, and say why. Raises DocumentError where the file is not there, not
    text, too large, or no YAML or JSON; `loose` as in `parse`.
    """
    if isinstance(origin, Mapping):
        _measure(origin, name or "<document>")
        return Source(name or "<document>", plain(origin))
    label = printable(name) if name else label_of(origin)
    try:
        return parse(read_text(origin, label), label, loose)._replace(private=private)
    except DocumentError as error:
        if not private:
            raise
        raise DocumentError([unquoted(error.errors[0], label, private)]) from None


def read_text(origin: str | pathlib.Path, label: str) -> str:
    """The text of a path, or of `-` for standard input. Raises DocumentError where it is not there, or no text."""
    return text_of(_bytes_of(str(origin), label), label)


def label_of(origin: Any) -> str:
    """What messages call an origin."""
    if isinstance(origin, Mapping):
        return "<document>"
    return "<stdin>" if str(origin) == "-" else printable(str(origin))


def _bytes_of(origin: str, label: str) -> bytes:
    if origin == "-":
        return read_standard_input(MAX_BYTES, label)
    try:
        return read_bounded(origin, MAX_BYTES, pipes=True)
    except DocumentError as error:
        raise DocumentError(problem._replace(source=label) for problem in error.errors) from None


def _measure(value: Any, name: str) -> None:
    """Raises DocumentError where a mapping is deeper or larger than one may be; one that holds itself is."""
    level, count = [value], 0
    for _ in range(MAX_DEPTH):
        level = [inner for item in level for inner in _inner(item)]
        count += len(level)
        if not level or count > MAX_MAPPING_VALUES:
            break
    if level:
        expected = f"at most {MAX_DEPTH} levels and {MAX_MAPPING_VALUES} values in a mapping"
        raise DocumentError([Problem((), expected=expected, found="more", kind="limit", source=name)])


def _inner(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def plain(value: Any) -> Any:
    """A value as a file would give it: a dump of the engine's dataclasses holds tuples, enums and torch's dtypes.

    >>> plain({"shapes": ((3, 64), (8,))})
    {'shapes': [[3, 64], [8]]}
    """
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, Enum):
        return value.name
    return str(value) if type(value).__module__ == "torch" else value


def parse(text: str, name: str, loose: bool = False) -> Source:
    """The value of a YAML or JSON text, by the name's ending; else as JSON where it begins like it, or as YAML.

    Raises DocumentError: what the first reader says, where none can read it; a key that stands twice, unless `loose`
    lets it pass.
    """
    suffix = pathlib.PurePath(name).suffix.lower()
    readers = _READERS.get(suffix) or (_READERS["either"] if text.lstrip()[:1] in ("{", "[") else _READERS[".yaml"])
    errors: list[DocumentError] = []
    for reader in readers:
        unread = Source(name, None, text, line_end=reader.line_end, comments=reader.comments)
        try:
            value, positions, repeated = reader.read(text)
            if repeated and not loose:
                raise DocumentError(repeated)
            return unread._replace(value=value, positions=positions, repeated=tuple(unread.placed(repeated)))
        except DocumentError as error:
            errors.append(DocumentError(unread.placed(error.errors)))
            if error.errors[0].kind != "syntax":
                break
    raise errors[0]


def unparsed(text: str, name: str) -> Source:
    """A text that is not read as a whole, with the line ends and comments that files of this name have."""
    suffix = pathlib.PurePath(name).suffix.lower()
    reader = _YAML if suffix in (".yaml", ".yml") else _JSON
    return Source(name, None, text, line_end=reader.line_end, comments=reader.comments)


def _parse_json(text: str) -> tuple[Any, Positions, list[Problem]]:
    from kvinspect.document.json_text import parse_json

    return parse_json(text)


def _parse_yaml(text: str) -> tuple[Any, Positions, list[Problem]]:
    from kvinspect.document.yaml_text import parse_yaml

    if len(text) > MAX_YAML_BYTES:
        raise too_large("", MAX_YAML_BYTES, "YAML")
    return parse_yaml(text)


def _yaml_comments(text: str) -> Iterable[Comment]:
    from kvinspect.document.yaml_comments import yaml_comments

    return yaml_comments(text)


class _Reader(NamedTuple):
    """How a text is read, what ends a line in it, and where its comments are."""

    read: Callable[[str], tuple[Any, Positions, list[Problem]]]
    line_end: re.Pattern[str]
    comments: Callable[[str], Iterable[Comment]] = _no_comments


_JSON = _Reader(_parse_json, JSON_LINE_END)
_YAML = _Reader(_parse_yaml, YAML_LINE_END, _yaml_comments)
_READERS = {".json": (_JSON,), ".yaml": (_YAML,), ".yml": (_YAML,), "either": (_JSON, _YAML)}
