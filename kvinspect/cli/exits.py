"""Exit codes, and how an error looks on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

from kvinspect.output.safe import safe, safe_line

if TYPE_CHECKING:
    from kvinspect.document.not_modelled import NotModelled
    from kvinspect.document.problem import Problem

CLEAN, FINDINGS, INPUT, DEVICE, INTERNAL, INTERRUPTED, PIPE = 0, 1, 2, 3, 70, 130, 141
"""0 nothing to report, 1 findings, 2 the input or the call is wrong or cannot be judged, 3 the device; 70 is our fault,
130 an interrupt, 141 that nobody reads on. Of several files the highest counts."""

SNIPPET = 160
"""Characters of a line that a snippet shows."""


CallError: type[Exception] = typer.BadParameter.__mro__[2]
"""Every error of a call that Typer itself finds; each release of it keeps the class under another name."""


def code_of(clean: bool, left_out: Sequence[NotModelled], strict: bool) -> int:
    """The exit code of an answer: under `--strict` an answer that leaves something out cannot be relied on."""
    if not clean:
        return FINDINGS
    return INPUT if strict and left_out else CLEAN


def say(text: str) -> None:
    """A line on standard error; the stream escapes it."""
    print(text, file=sys.stderr)


def bad_call(text: str, hint: str | None = None, instead: str = "") -> typer.BadParameter:
    """What is wrong with a call, its foreign words escaped; `hint` is the option, `instead` the words that work."""
    error = typer.BadParameter(safe(text), param_hint=hint)
    error.instead = instead  # type: ignore[attr-defined]
    return error


def as_bad_call(error: ValueError) -> typer.BadParameter:
    """An error of a call that another room has found; it may know the words that work."""
    return bad_call(str(error), None, getattr(error, "instead", ""))


def print_problems(problems: Iterable[Problem]) -> None:
    """Errors as a compiler prints them: place and message, the line, a caret; then a call that works."""
    every = tuple(problems)
    for problem in every:
        say(safe(str(problem)))
        if problem.mark and problem.line_text.strip():
            _snippet(problem)
    if every and (call := _call_without(every[0])):
        say(f"Help: {call}")


def _call_without(problem: Problem) -> str:
    """A call that works in place of this one, where an error is about a flag of it; else ""."""
    from kvinspect.cli.repair import mended
    from kvinspect.models.given import SOURCE

    of_call = not problem.source or problem.source.startswith(SOURCE)
    name = str(problem.path[0]) if of_call and problem.path else ""
    said = f"'{name}' {problem.text}" if name else problem.text
    return mended(sys.argv[1:], said, [f"--{name.replace('_', '-')}"] if name else [])


def _snippet(problem: Problem) -> None:
    assert problem.mark
    column = problem.mark.column
    start = max(0, column - SNIPPET // 2) if len(problem.line_text) > SNIPPET else 0
    number = str(problem.mark.line)
    say(f"{number} | {safe_line(problem.line_text[start : start + SNIPPET])}")
    say(f"{' ' * len(number)} | {' ' * (column - 1 - start)}^")
