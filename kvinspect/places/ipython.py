"""What IPython adds to Python: commands behind `!`, magics behind `%`, a whole cell for a shell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.places.source import Source, of_characters, of_lines, part

_SHELL_CELL = re.compile(r"\s*%%(?:bash|sh|shell|script\s+(?:bash|sh))\b[^\n]*\n?")
_COMMAND = re.compile(r"(\s*)!+(?!=)")
_MAGIC = re.compile(r"(\s*)(?:%|\?|get_ipython\(\)\.run_line)")
_NAME = re.compile(r"(?<!\$)\{(?=\w+\})")

Characters = list[tuple[str, int]]
"""Texts, of a character mostly, each with the offset where it stands."""


class Cell(NamedTuple):
    """The commands of a cell, and its Python; where one has a line, the other has none or one that does nothing."""

    shell: Source
    python: Source


def parted(source: Source) -> Cell:
    """A cell in its two languages."""
    if found := _SHELL_CELL.match(source.text):
        return Cell(part(source, found.end(), len(source.text)), of_lines("", ()))
    shell: Characters = []
    python: Characters = []
    at, goes_on = 0, False
    for line in source.text.split("\n"):
        command = None if goes_on else _COMMAND.match(line)
        replaced = None if goes_on else command or _MAGIC.match(line)
        is_command = goes_on or command is not None
        if is_command:
            shell.extend(_filled(line, command.end() if command else 0, at))
        if replaced:
            python.extend((character, at) for character in f"{replaced[1]}pass")
        elif not goes_on:
            python.extend((character, at + number) for number, character in enumerate(line))
        goes_on = is_command and line.rstrip("\r").endswith("\\")
        at += len(line) + 1
        for characters in (shell, python):
            characters.append(("\n", at - 1))
    return Cell(of_offsets(shell, source), of_offsets(python, source))


def of_offsets(characters: Characters, source: Source) -> Source:
    """Characters of a source, put together in another way, with the places that they had."""
    marks = [source.at(offset) for text, offset in characters for _ in text]
    return of_characters("".join(text for text, _ in characters), marks)


def _filled(line: str, start: int, at: int) -> Iterator[tuple[str, int]]:
    """A command with IPython's `{name}` as a shell's `${name}`."""
    opened = {found.start() for found in _NAME.finditer(line)}
    for number in range(start, len(line)):
        yield "${" if number in opened else line[number], at + number
