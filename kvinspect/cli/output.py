"""Where a report goes, and in which format."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import typer

if TYPE_CHECKING:
    from kvinspect.report.page import Page


class Format(str, Enum):
    """How an answer is printed."""

    table = "table"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


class Color(str, Enum):
    """Whether output is coloured."""

    auto = "auto"
    always = "always"
    never = "never"


class Report(NamedTuple):
    """Answers, and how one of them becomes a page."""

    answers: Sequence[Any]
    page: Callable[[Any], Page]

    def emit(self, how: Format, to: str | None, color: Color) -> None:
        """Print in a format, on standard output or into a file that is written whole or not at all."""
        if not self.answers:
            return
        if how in (Format.json, Format.yaml):
            text = _data([answer.to_dict() for answer in self.answers], how)
        elif how is Format.markdown:
            from kvinspect.report import markdown

            text = "\n".join(markdown.render(self.page(answer)) for answer in self.answers)
        else:
            text = _table([self.page(answer) for answer in self.answers], to, color)
        write(text, to)


def _data(answers: Sequence[dict[str, Any]], how: Format) -> str:
    from kvinspect.report import data

    value = data.together(answers)
    return data.as_json(value) if how is Format.json else data.as_yaml(value)


def _table(pages: Sequence[Page], to: str | None, color: Color) -> str:
    from kvinspect.report import terminal

    look = look_of(to, color)
    return "\n".join(terminal.render(page, **look._asdict()) for page in pages)


Kind = TypeVar("Kind")


def by_ending(output: str | None, endings: Mapping[str, Kind], otherwise: Kind) -> Kind:
    """The format that a file's ending asks for. Raises typer.BadParameter for an ending that asks for none."""
    if output is None:
        return otherwise
    ending = pathlib.PurePath(output).suffix.lower()
    if ending in endings or not ending:
        return endings.get(ending, otherwise)
    known = ", ".join(endings)
    raise typer.BadParameter(f"{ending!r} is none of {known}; or say --format", param_hint="--output")


class Look(NamedTuple):
    """How text is set: the terminal's width (None off one), whether in colour, and in which encoding."""

    width: int | None
    colour: bool
    encoding: str


def look_of(to: str | None, color: Color) -> Look:
    """How text is set on standard output, or in a file."""
    from kvinspect.report import terminal

    if to is not None:
        return Look(None, color is Color.always, "utf-8")
    stream = sys.stdout
    colour = terminal.wants_colour(color.value, stream)
    return Look(terminal.terminal_width(stream), colour, stream.encoding or "utf-8")


def write(text: str, to: str | None) -> None:
    """Write to standard output, or atomically to a file. Raises OSError where the file cannot be written."""
    if to is None:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    import tempfile

    target = pathlib.Path(to)
    handle, temporary = tempfile.mkstemp(dir=target.parent or ".", prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
