"""Notebooks: the code cells of an `.ipynb`, their Python and the commands behind `!`, with the places in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.document.problem import Mark
from kvinspect.places import python_file, shell
from kvinspect.places.forms import NOTEBOOK
from kvinspect.places.fragment import Fragment
from kvinspect.places.source import Source, of_characters, of_file

MAX_CHARACTERS = 20_000_000
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}:,]', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")
_SHELL_CELL = re.compile(r"\s*%%(?:bash|sh|shell|script\s+(?:bash|sh))\b")
_COMMAND = re.compile(r"(\s*)!+(?!=)")
_MAGIC = re.compile(r"(\s*)(?:%|\?|get_ipython\(\)\.run_line)")
_FILLED = re.compile(r"(?<!\$)\{(\w+)\}")


class _Character(NamedTuple):
    text: str
    offset: int


_Line = list[_Character]


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a notebook; outputs and texts hold none."""
    if "vllm" not in text.lower() or len(text) > MAX_CHARACTERS:
        return
    outer = of_file(text)
    names: python_file.Names = {}
    for cell in _code_cells(text):
        lines = _lines(cell)
        if lines and _SHELL_CELL.match(_text(lines[0])):
            yield from shell.find_in(_joined(lines[1:], outer), NOTEBOOK)
            continue
        commands, python = _parted(lines)
        yield from shell.find_in(_joined(commands, outer), NOTEBOOK)
        yield from python_file.find_in(_joined(python, outer), NOTEBOOK, names)


def _code_cells(text: str) -> Iterator[_Line]:
    """The characters of each code cell's source, in the order of the file."""
    path: list[str | int] = []
    keys: list[str | None] = []
    cell: _Line = []
    kind = ""
    key: str | None = None
    for token in _TOKEN.finditer(text):
        shown = token[0]
        if shown in "[{":
            keys.append(key)
            path.append(shown)
            key = None
        elif shown in "]}":
            if path:
                path.pop()
                key = keys.pop()
            if len(path) == 2 and keys[1:2] == ["cells"] and shown == "}":
                if kind == "code":
                    yield cell
                cell, kind = [], ""
        elif shown == ",":
            key = None if path and path[-1] == "{" else key
        elif shown != ":":
            if path and path[-1] == "{" and key is None:
                key = shown[1:-1]
            elif keys[1:2] == ["cells"]:
                if len(path) == 3 and key == "cell_type":
                    kind = shown[1:-1]
                elif (len(path) == 3 and key == "source") or (len(path) == 4 and keys[3] == "source"):
                    cell.extend(_characters(shown, token.start()))


def _characters(literal: str, at: int) -> Iterator[_Character]:
    """The characters of a JSON string with their offsets in the file."""
    number = 1
    while number < len(literal) - 1:
        escape = _ESCAPE.match(literal, number) if literal[number] == "\\" else None
        if escape is None:
            yield _Character(literal[number], at + number)
            number += 1
        else:
            yield _Character(_unescaped(escape[0]), at + number)
            number = escape.end()


def _unescaped(escape: str) -> str:
    try:
        return str(json.loads(f'"{escape}"'))
    except ValueError:
        return escape[1:]


def _lines(cell: _Line) -> list[_Line]:
    """The lines of a cell, each with its line end."""
    lines: list[_Line] = [[]]
    for character in cell:
        lines[-1].append(character)
        if character.text == "\n":
            lines.append([])
    return lines


def _text(line: _Line) -> str:
    return "".join(character.text for character in line)


def _joined(lines: list[_Line], outer: Source) -> Source:
    characters = [character for line in lines for character in line]
    marks: list[Mark] = [outer.at(character.offset) for character in characters for _ in character.text]
    return of_characters(_text(characters), marks)


def _parted(lines: list[_Line]) -> tuple[list[_Line], list[_Line]]:
    """(commands, Python): each with the other's lines replaced, so that the lines stay the same."""
    commands: list[_Line] = []
    python: list[_Line] = []
    goes_on = False
    for line in lines:
        text = _text(line)
        found = _COMMAND.match(text) if not goes_on else None
        if found or goes_on:
            commands.append(_filled(line[found.end() if found else 0 :]))
            python.append(_passed(line, found[1] if found else None))
            goes_on = text.rstrip("\r\n").endswith("\\")
        else:
            commands.append([one for one in line if one.text == "\n"])
            magic = _MAGIC.match(text)
            python.append(_passed(line, magic[1]) if magic else line)
    return commands, python


def _passed(line: _Line, indented: str | None) -> _Line:
    """A line that does nothing in Python, as deep as the one that it stands for."""
    end = [one for one in line if one.text == "\n"]
    if indented is None or not line:
        return end
    return [*line[: len(indented)], _Character("pass", line[0].offset), *end]


def _filled(line: _Line) -> _Line:
    """A command with IPython's `{name}` as a shell's `${name}`."""
    text = _text(line)
    if len(text) != len(line):
        return line
    opened = {found.start() for found in _FILLED.finditer(text)}
    return [one._replace(text="${") if number in opened else one for number, one in enumerate(line)]
