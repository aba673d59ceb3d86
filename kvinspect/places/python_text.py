"""Where the parts of a Python text stand, and the text of its string literals with each character's place."""

from __future__ import annotations

import ast
import re
from collections.abc import Generator, Iterator

from kvinspect.places.source import Source, of_characters

_LINE_END = re.compile(r"\r\n|\r|\n")
_OPENING = re.compile(r"(?P<prefix>[A-Za-z]{0,2})(?P<quote>\"\"\"|'''|\"|')")
_ESCAPE = re.compile(r"\\(?:\r\n|[0-7]{1,3}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|N\{[^}]*\}|.)", re.DOTALL)
EXPRESSION = "${_}"
"""What an f-string's expression is to a shell: a variable of which nothing is known."""


class PythonText:
    """A Python text with the offsets of its nodes."""

    def __init__(self, source: Source) -> None:
        self.source, self.text = source, source.text
        self._starts = [0, *(found.end() for found in _LINE_END.finditer(source.text))]

    def span(self, node: ast.expr | ast.keyword) -> tuple[int, int]:
        """Where a node begins and ends, in characters."""
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def written(self, node: ast.expr) -> str:
        """An expression as it is written, in one line."""
        start, end = self.span(node)
        return " ".join(self.text[start:end].split())

    def literal(self, node: ast.expr) -> Source:
        """The text of a string, expressions of an f-string as `EXPRESSION`, with the place of each character."""
        characters: list[str] = []
        offsets: list[int] = []
        for text, offset in _characters(self.text, *self.span(node)):
            characters.append(text)
            offsets.extend([offset] * len(text))
        return of_characters("".join(characters), [self.source.at(offset) for offset in offsets])

    def _offset(self, line: int, column: int) -> int:
        """The offset of a line from 1 and a column in bytes of UTF-8."""
        start = self._starts[min(line, len(self._starts)) - 1]
        if self.text.isascii():
            return start + column
        line_text = self.text[start : self._starts[line] if line < len(self._starts) else len(self.text)]
        return start + len(line_text.encode("utf-8", "replace")[:column].decode("utf-8", "replace"))


def _characters(text: str, at: int, end: int) -> Iterator[tuple[str, int]]:
    """(text, offset) of what the literals between two offsets hold; those that follow each other are one."""
    while at < end:
        opening = _OPENING.match(text, at, end)
        if text[at] == "#":
            at = text.find("\n", at) % (end + 1)
        elif opening:
            at = yield from _literal(text, opening, end)
        else:
            at += 1


def _literal(text: str, opening: re.Match[str], end: int) -> Generator[tuple[str, int], None, int]:
    """The characters of one literal; returns where it ends."""
    prefix, quote, at = opening["prefix"].lower(), opening["quote"], opening.end()
    while at < end and not text.startswith(quote, at):
        if text[at] == "\\" and "r" not in prefix and (escape := _ESCAPE.match(text, at)):
            yield _unescaped(escape[0]), at
            at = escape.end()
        elif text[at] in "{}" and "f" in prefix and text[at + 1 : at + 2] == text[at]:
            yield text[at], at
            at += 2
        elif text[at] == "{" and "f" in prefix:
            yield EXPRESSION, at
            at = _closed(text, at, end)
        else:
            yield text[at], at
            at += 1
    return at + len(quote)


def _closed(text: str, at: int, end: int) -> int:
    """Behind the brace that closes the one here."""
    deep = 0
    while at < end:
        deep += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
        if deep == 0:
            break
    return at


def _unescaped(escape: str) -> str:
    if escape[1:] in ("\n", "\r", "\r\n"):
        return ""
    try:
        return str(ast.literal_eval(f'"{escape}"'))
    except (SyntaxError, ValueError):
        return escape
