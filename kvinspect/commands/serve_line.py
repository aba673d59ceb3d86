"""A `vllm serve` command as a line to copy into a shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from kvinspect.commands.shell_text import EXPANDED

_NAMED = re.compile(rf"{EXPANDED}\$(?:[A-Za-z_][A-Za-z0-9_]*|\{{[A-Za-z_][A-Za-z0-9_]*\}})", re.ASCII)
_READ = re.compile(r'([$`"\\])')


def serve_line(words: Iterable[str], env: Mapping[str, str] = {}) -> str:
    """The words behind `vllm serve` with what starts it and the variables that it needs, quoted for a shell.

    >>> serve_line(["m", "--hf-overrides", '{"a": 1}'], {"VLLM_X": "1 2"})
    'VLLM_X=\\'1 2\\' vllm serve m --hf-overrides \\'{"a": 1}\\''
    """
    said = (f"{name}={quoted(value)}" for name, value in env.items())
    return " ".join((*said, "vllm", "serve", *map(quoted, words)))


def quoted(word: str) -> str:
    """A word for a shell. Variables that stood in a pasted command are still read; a command in it is left to fill in.

    >>> quoted("it's"), quoted("\\x1a$KEY"), quoted("\\x1a$(cat key)")
    ('\\'it\\'"\\'"\\'s\\'', '"$KEY"', "'…'")
    """
    if EXPANDED not in word:
        return shlex.quote(word)
    variables, literal = _NAMED.findall(word), _NAMED.split(word)
    if any(EXPANDED in part for part in literal):
        return "'…'"
    parts = [_READ.sub(r"\\\1", part) for part in literal]
    return '"' + "".join(a + b.removeprefix(EXPANDED) for a, b in zip(parts, (*variables, ""), strict=True)) + '"'
