"""Foreign text made harmless: names of layers, files and flags may hold anything.

Two kinds of harm: characters that a terminal acts on (`safe`), and words that a CI runner takes for its own commands
wherever a program prints them (`without_commands`).
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum


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


def safe_line(text: str) -> str:
    """A line of a file for a snippet: one character for each of its own, so that a caret below still points right."""
    return "".join(
        char if char.isprintable() else " " if char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text
    )


class Syntax(Enum):
    """How a text writes a character as an escape: the value is a format of its code point."""

    TEXT = "\\x{:02x}"
    """Tables, running text, Markdown: no reader undoes it, a person sees it."""
    COMMANDS = "\\X{:02x}"
    """As TEXT, with lines that are meant as annotations for a runner."""
    QUOTED = "\\u{:04x}"
    """JSON, and YAML whose doubtful scalars are double-quoted: the value stays what it is."""
    MARKUP = "&#{};"
    """XML, SVG and HTML: the value stays what it is."""


_BREAKS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
"""What one runner or another takes for the end of a line."""

_BLANK = rf"(?:[^\S{_BREAKS}]|[\u200b-\u200f\u2060\ufeff]|\x1b\[[0-9;]*m)"
"""What may stand before a command: blanks, characters of no width, colors. No line end, so that time stays linear."""

_ANYWHERE = re.compile(r"#(?=#\w*\[)")
"""`##[group]`, `##vso[task.setvariable …]`: Azure Pipelines and GitHub look for them in the whole line."""

_AT_START = re.compile(rf"((?:^|[{_BREAKS}]){_BLANK}*):(?=:)")
"""`::error …::`: GitHub, Gitea and Forgejo read it at the start of a line."""

_OURS = re.compile(r"::(?:error|warning|notice) (?:file|title)=")


def holds_command(text: str) -> bool:
    """Whether a runner could find a command in a text, or in one of its lines."""
    return bool(_ANYWHERE.search(text) or _AT_START.search(text))


def without_commands(text: str, syntax: Syntax) -> str:
    """The text with one character of each workflow command escaped, as the text's syntax escapes characters.

    >>> without_commands("::error file=x::a ##vso[b]c", Syntax.TEXT)
    '\\\\x3a:error file=x::a \\\\x23#vso[b]c'
    >>> without_commands('{"a": "##[b]"}', Syntax.QUOTED)
    '{"a": "\\\\u0023#[b]"}'
    """

    def at_start(found: re.Match[str]) -> str:
        """What stands in place of a command that begins a line; one of our own is left as it is."""
        if syntax is Syntax.COMMANDS and found[1] in ("", "\n") and _OURS.match(text, found.end(1)):
            return found[0]
        return found[1] + colon

    form = Syntax.TEXT.value if syntax is Syntax.COMMANDS else syntax.value
    number, colon = form.format(ord("#")), form.format(ord(":"))
    return _AT_START.sub(at_start, _ANYWHERE.sub(lambda _: number, text))
