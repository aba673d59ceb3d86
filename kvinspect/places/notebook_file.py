"""Notebooks: the code cells of an `.ipynb`, their Python and the commands behind `!`, with the places in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from kvinspect.places import python_file, shell
from kvinspect.places.forms import NOTEBOOK
from kvinspect.places.fragment import Fragment
from kvinspect.places.ipython import Characters, of_offsets, parted
from kvinspect.places.source import of_file

MAX_CHARACTERS = 20_000_000
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}:,]', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)")


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a notebook; outputs and texts hold none."""
    if "vllm" not in text.lower() or len(text) > MAX_CHARACTERS:
        return
    outer = of_file(text)
    names: python_file.Names = {}
    for characters in _code_cells(text):
        cell = parted(of_offsets(characters, outer))
        yield from shell.find_in(cell.shell, NOTEBOOK)
        yield from python_file.find_in(cell.python, NOTEBOOK, names)


def _code_cells(text: str) -> Iterator[Characters]:
    """The characters of each code cell's source, in the order of the file."""
    path: list[str | int] = []
    keys: list[str | None] = []
    cell: Characters = []
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


def _characters(literal: str, at: int) -> Iterator[tuple[str, int]]:
    """The characters of a JSON string with their offsets in the file."""
    number = 1
    while number < len(literal) - 1:
        escape = _ESCAPE.match(literal, number) if literal[number] == "\\" else None
        if escape is None:
            yield (literal[number], at + number)
            number += 1
        else:
            yield (_unescaped(escape[0]), at + number)
            number = escape.end()


def _unescaped(escape: str) -> str:
    try:
        return str(json.loads(f'"{escape}"'))
    except ValueError:
        return escape[1:]
