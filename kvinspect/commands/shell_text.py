"""The words of a command that was pasted as text. Nothing is run, and no variable of this process is read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.document.limits import MAX_COMMAND_CHARACTERS, MAX_COMMAND_WORDS

EXPANDED = "\x1a"
"""Before a part of a word that a shell would replace: `$NAME`, `$(…)` or a command between backticks."""

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_CONTINUED = re.compile(r"\\[ \t]*(?:#[^\n]*)?(?:\n|\Z)")
"""A backslash that ends a line, with blanks and a comment behind it, which people leave and a shell does not take."""

_VARIABLE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?!$-])")
_REDIRECTION = re.compile(r"(?:[0-9]*|&)(?:>>|>\||>&|>|<<<|<<-?|<&|<)(?:&?[0-9-](?=\s|$))?")
_OPERATOR = re.compile(r"&&|\|\||\|&|;;|[|&;()]")
_PLAIN = re.compile(r"[^\\'\"$`\s|&;()<>]+")


class Statement(NamedTuple):
    """The words of one command, and the operator or the end of the line behind it."""

    words: tuple[str, ...]
    end: str
    redirected: bool = False


def statements(text: str) -> tuple[Statement, ...]:
    """The commands of a text as a shell would split them, comments and redirections left out.

    A shell expands `$NAME`, `$(…)` and backticks; here they stay as they are, behind `EXPANDED`. Raises ValueError for
    a text that is too long or has a quote that is never closed, an input or control characters in it.

    >>> [one.words for one in statements("A=1 vllm serve m -q fp8 # fast")]
    [('A=1', 'vllm', 'serve', 'm', '-q', 'fp8')]
    """
    if len(text) > MAX_COMMAND_CHARACTERS:
        raise ValueError(f"a command has at most {MAX_COMMAND_CHARACTERS:,} characters, and this one has {len(text):,}")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if bad := _CONTROL.search(text):
        raise ValueError(f"the command has a control character, {bad[0]!r}, at character {bad.start() + 1}")
    found = tuple(_Reader(text).statements())
    if (count := sum(len(one.words) for one in found)) > MAX_COMMAND_WORDS:
        raise ValueError(f"a command has at most {MAX_COMMAND_WORDS:,} words, and this one has {count:,}")
    return found


class _Reader:
    """One pass over the text; `at` is the next character."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def statements(self) -> Iterator[Statement]:
        """The commands from here to the end. Raises ValueError at a character that no rule passes."""
        words: list[str] = []
        redirected = False
        while self.at < len(self.text):
            if self._blank():
                continue
            if self._redirection():
                redirected = True
                continue
            if end := self._end():
                if words:
                    yield Statement(tuple(words), end, redirected)
                words, redirected = [], False
                continue
            start = self.at
            words.append(self._word())
            if self.at == start:
                raise ValueError(f"the command cannot be read from character {start + 1} on")
        if words:
            yield Statement(tuple(words), "", redirected)

    def _matched(self, pattern: re.Pattern[str]) -> str:
        """What a pattern finds here, which is passed."""
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return found[0] if found else ""

    def _blank(self) -> bool:
        """Pass a blank, a line that goes on, or a comment."""
        if self.text[self.at] != "\n" and self.text[self.at].isspace():
            self.at += 1
            return True
        if self.text[self.at] == "#":
            end = self.text.find("\n", self.at)
            self.at = len(self.text) if end < 0 else end
            return True
        return bool(self._matched(_CONTINUED))

    def _redirection(self) -> bool:
        """Pass a redirection with its file."""
        start = self.at
        found = self._matched(_REDIRECTION)
        if not found:
            return False
        if "<" in found:
            raise ValueError(f"the command reads from a file at character {start + 1} ({found}), which is not followed")
        if found[-1] in ">|&" and not found.endswith("|&"):
            while self.at < len(self.text) and self.text[self.at] in " \t":
                self.at += 1
            self._word()
        return True

    def _end(self) -> str:
        if self.text[self.at] == "\n":
            self.at += 1
            return "\n"
        return self._matched(_OPERATOR)

    def _word(self) -> str:
        """One word, its quotes taken away; "" where none begins here."""
        found: list[str] = []
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == "'":
                found.append(self._single())
            elif char == '"':
                found.append(self._double())
            elif char == "\\":
                found.append(self._escaped())
            elif char in "$`":
                found.append(self._expanded())
            elif plain := self._matched(_PLAIN):
                found.append(plain)
            else:
                break
        return "".join(found)

    def _single(self) -> str:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise self._open("'")
        found = self.text[self.at + 1 : end]
        self.at = end + 1
        return found

    def _double(self) -> str:
        start = self.at
        found: list[str] = []
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return "".join(found)
            if char == "\\" and self.text[self.at + 1 : self.at + 2] in ('"', "\\", "$", "`", "\n"):
                found.append(self._escaped())
            elif char in "$`":
                found.append(self._expanded())
            else:
                found.append(char)
                self.at += 1
        self.at = start
        raise self._open('"')

    def _escaped(self) -> str:
        """The character behind a backslash; none where the line goes on."""
        if self._matched(_CONTINUED):
            return ""
        found = self.text[self.at + 1 : self.at + 2]
        self.at += 2
        return found

    def _expanded(self) -> str:
        """What a shell would replace, whole and marked."""
        start = self.at
        opening = self.text[start : start + 2]
        if self.text[start] == "`":
            end = self.text.find("`", start + 1)
        elif opening in ("$(", "${"):
            end = self._closing("()" if opening == "$(" else "{}")
        else:
            found = self._matched(_VARIABLE)
            self.at += not found
            return EXPANDED + found if found else "$"
        if end < 0:
            raise self._open(self.text[start])
        self.at = end + 1
        return EXPANDED + self.text[start : self.at]

    def _closing(self, pair: str) -> int:
        """Where what is opened here is closed, -1 where it is not."""
        deep = 0
        for found in re.compile("[" + re.escape(pair) + "]").finditer(self.text, self.at):
            deep += 1 if found[0] == pair[0] else -1
            if deep == 0:
                return found.start()
        return -1

    def _open(self, quote: str) -> ValueError:
        return ValueError(f"the command has a {quote} at character {self.at + 1} that is never closed")
