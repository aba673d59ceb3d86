"""Foreign text made harmless: names of layers and files may hold anything."""

from __future__ import annotations

import re
import unicodedata


def safe(text: str) -> str:
    """The text with every character that could move a cursor, hide or reorder text written as an escape.

    >>> safe("a\\x1b[31mb\\nc")
    'a\\\\x1b[31mb\\\\nc'
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    if char in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[char]
    if unicodedata.category(char) == "Zs":
        return " "
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_COMMAND = re.compile(r"^((?:\s|\x1b\[[0-9;]*m)*)(::|##\[)", re.MULTILINE)


def not_a_command(text: str) -> str:
    """Text of which no line is a workflow command: a CI runner reads those off whatever a program prints.

    >>> not_a_command("::error file=x::hello")
    '\\\\x3a:error file=x::hello'
    """
    return _COMMAND.sub(lambda found: f"{found[1]}\\x{ord(found[2][0]):02x}{found[2][1:]}", text)


def safe_line(text: str) -> str:
    """A line of a file for a snippet: one character for each of its own, so that a caret below still points right."""
    return "".join(
        char if char.isprintable() else " " if char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )
