"""Where a report goes, and in which format."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kvinspect.cli.exits import bad_call, say
from kvinspect.output.safe import Syntax, safe, without_commands

if TYPE_CHECKING:
    from kvinspect.report.page_parts import Page


class Format(str, Enum):
    """How an answer is printed."""

    table = "table"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"


ENDINGS = {
    ".json": Format.json,
    ".yaml": Format.yaml,
    ".yml": Format.yaml,
    ".md": Format.markdown,
    ".txt": Format.table,
}
"""Ending of a file → the format of an answer in it."""


class Color(str, Enum):
    """Whether output is coloured."""

    auto = "auto"
    always = "always"
    never = "never"


class Report(NamedTuple):
    """Answers, and how one of them becomes a page."""

    answers: Sequence[Any]
    page: Callable[[Any], Page]
    several: bool = False
    """Whether several documents were asked about, however many answers there are."""
    what: str = ""
    """What the answers are, where a file of them is said to be written."""

    def emit(self, how: Format | None, to: str | None, color: Color) -> None:
        """Print in a format, on standard output or into a file that is written whole or not at all.

        Without a format the ending of the file says it. Raises BadParameter for an ending that says none.
        """
        how = how or by_ending(to, ENDINGS, Format.table)
        if not self.answers:
            return
        if how in (Format.json, Format.yaml):
            write(_data([answer.to_dict() for answer in self.answers], how, self.several), to, Syntax.QUOTED, self.what)
        elif how is Format.markdown:
            from kvinspect.report import markdown

            write("\n".join(markdown.render(self.page(answer)) for answer in self.answers), to, Syntax.TEXT, self.what)
        else:
            write(_table(map(self.page, self.answers), to, color), to, Syntax.TEXT, self.what)


def _data(answers: Sequence[dict[str, Any]], how: Format, several: bool) -> str:
    from kvinspect.report import data

    value = data.together(answers, several)
    return data.as_json(value) if how is Format.json else data.as_yaml(value)


def _table(pages: Iterable[Page], to: str | None, color: Color) -> str:
    from kvinspect.report import terminal

    look = look_of(to, color)
    return "\n".join(terminal.render(page, **look._asdict()) for page in pages)


Kind = TypeVar("Kind")


def by_ending(output: str | None, endings: Mapping[str, Kind], otherwise: Kind) -> Kind:
    """The format that a file's ending asks for. Raises BadParameter for an ending that asks for none."""
    if output is None:
        return otherwise
    ending = pathlib.PurePath(output).suffix.lower()
    if ending in endings or not ending:
        return endings.get(ending, otherwise)
    known = ", ".join(endings)
    path = pathlib.PurePath(output)
    raise bad_call(
        f"unknown ending {ending!r}; known are {known}", "--output", f"-o {path.with_suffix(next(iter(endings)))}"
    )


_quiet = False
"""Whether the call says nothing of the files that it writes."""


def set_quiet(value: bool) -> bool:
    """The value of a call's `--quiet`, which holds for whatever the call says."""
    global _quiet
    _quiet = value
    return value


_unlimited = False
"""Whether the call's tables are as wide as they need, whatever the terminal's width."""


def set_wide(value: bool) -> bool:
    """The value of a call's `--wide`, which holds for whatever the call prints."""
    global _unlimited
    _unlimited = value
    return value


class Look(NamedTuple):
    """How text is set: the terminal's width (None off one and with `--wide`), whether in colour, the encoding."""

    width: int | None
    colour: bool
    encoding: str


def look_of(to: str | None, color: Color) -> Look:
    """How text is set on standard output, or in a file."""
    from kvinspect.report import table_width, terminal

    if to is not None:
        return Look(None, color is Color.always, "utf-8")
    stream = sys.stdout
    colour = terminal.wants_colour(color.value, stream)
    width = None if _unlimited else table_width.terminal_width(stream)
    return Look(width, colour, stream.encoding or "utf-8")


def write_drawing(text: str, to: str | None, what: str = "") -> None:
    """Write SVG or HTML in ASCII, which every program reads alike, whatever the encoding of standard output."""
    write(text.encode("ascii", "xmlcharrefreplace").decode("ascii"), to, Syntax.MARKUP, what)


def write(text: str, to: str | None, syntax: Syntax, what: str = "") -> None:
    """Write an answer to standard output (None or `-`) or to a file, without anything that a CI runner would act on.

    That a file is there, and `what` is in it, is said. What standard output's encoding lacks is written as an escape.
    Raises OSError where a file cannot be written.
    """
    from kvinspect.output import streams

    if to is None or to == "-":
        streams.put(text, syntax)
    else:
        write_together({to: text}, syntax, {to: what})


def write_together(texts: Mapping[str, str], syntax: Syntax, what: Mapping[str, str]) -> None:
    """Write files of one answer, as `write` writes one, all or none; `what` is said to be in each."""
    from kvinspect.output.files import is_stream, write_files

    write_files({name: without_commands(text, syntax) for name, text in texts.items()})
    for name in () if _quiet else texts:
        if not is_stream(name):
            say(f"wrote {safe(name)}{f': {what[name]}' if what[name] else ''}")
