"""Exit codes, and how an error looks on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from kvinspect.output.safe import safe, safe_line

if TYPE_CHECKING:
    from kvinspect.document.problem import Problem

CLEAN, FINDINGS, INPUT, DEVICE, INTERNAL, INTERRUPTED, PIPE = 0, 1, 2, 3, 70, 130, 141
"""0 nothing to report, 1 findings, 2 the input or the call is wrong or cannot be judged, 3 the device; 70 is our fault,
130 an interrupt, 141 that nobody reads on. Of several files the highest counts."""

SNIPPET = 160
"""Characters of a line that a snippet shows."""


CallError: type[Exception] = typer.BadParameter.__mro__[2]
"""Every error of a call that Typer itself finds; each release of it keeps the class under another name."""


def say(text: str) -> None:
    """A line on standard error; the stream escapes it."""
    print(text, file=sys.stderr)


def bad_call(text: str, hint: str | None = None) -> typer.BadParameter:
    """What is wrong with a call, its foreign words escaped; `hint` is the option."""
    return typer.BadParameter(safe(text), param_hint=hint)


def print_problems(problems: Iterable[Problem]) -> None:
    """Errors as a compiler prints them: place and message, the line, a caret."""
    for problem in problems:
        say(safe(str(problem)))
        if problem.mark and problem.line_text.strip():
            _snippet(problem)


def _snippet(problem: Problem) -> None:
    assert problem.mark
    column = problem.mark.column
    start = max(0, column - SNIPPET // 2) if len(problem.line_text) > SNIPPET else 0
    number = str(problem.mark.line)
    say(f"{number} | {safe_line(problem.line_text[start : start + SNIPPET])}")
    say(f"{' ' * len(number)} | {' ' * (column - 1 - start)}^")
