"""The program: its commands, what is common to them, and what becomes of an exception."""

from __future__ import annotations

import gc
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Annotated

import typer

from kvinspect.cli.command import Command, Group
from kvinspect.cli.exits import CLEAN, DEVICE, FINDINGS, INPUT, INTERNAL, INTERRUPTED, PIPE, print_problems, say
from kvinspect.cli.serve_words import WithServeWords
from kvinspect.output import inputs
from kvinspect.output.streams import NobodyReads, guarded
from kvinspect.version import __version__

COMMANDS = {
    "align": "align",
    "cg-support": "cg_support",
    "mm-prefix": "mm_prefix",
    "plan": "plan",
    "diff": "diff",
    "lint": "lint",
    "rule": "rule",
    "map": "draw",
    "capture": "capture",
    "gpus": "gpus",
    "models": "models",
    "doctor": "doctor",
    "schema": "schema",
}
"""The function of each command, in the order of the help; it lies in the module that is called as the command is."""

OF_MODELS = ("plan", "align", "cg-support", "map")
"""The commands that take a model with the flags of `vllm serve`."""

ISSUES = "the project's issue tracker"


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kvinspect {__version__}")
        raise typer.Exit


def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def program(words: Sequence[str] = ()) -> typer.Typer:
    """The program; for a call that begins with a command's name that command alone, as each one takes time to build."""
    app = typer.Typer(
        name="kvinspect",
        cls=Group,
        help="How vLLM lays out, shares and sizes its KV cache, told before a GPU is touched.",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_common)
    for name in _needed(words):
        module = import_module(f"kvinspect.cli.{name.replace('-', '_')}")
        kind = WithServeWords if name in OF_MODELS else Command
        app.command(name, cls=kind, epilog=module.EXAMPLES)(getattr(module, COMMANDS[name]))
    return app


def _needed(words: Sequence[str]) -> Iterable[str]:
    if list(words) == ["--version"]:
        return ()
    return words[:1] if words and words[0] in COMMANDS else COMMANDS


GARBAGE = 100_000
"""New objects before Python looks for cycles; its own 700 make it look at all that a call holds again and again."""


def run() -> int:
    """Run the program and return its exit code.

    Every exception ends in one line and a code; a traceback is shown only under `--debug`. What nobody can read on
    standard error changes no code; an answer that standard output does not take is an error.
    """
    inputs.begin()
    gc.set_threshold(GARBAGE)
    warnings.showwarning = _warned
    with guarded():
        code = _ended(lambda: program(sys.argv[1:])())
        return _ended(sys.stdout.flush) or code


def _warned(message: Warning | str, *_: object, **__: object) -> None:
    """A warning as a line like any other, without the place in the code."""
    from kvinspect.output.safe import safe

    say(f"kvinspect: warning: {safe(str(message))}")


def _ended(action: Callable[[], object]) -> int:
    """The exit code of an action, what went wrong said."""
    try:
        action()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else CLEAN if end.code is None else INPUT
    except NobodyReads:
        return PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if "--debug" in sys.argv[1:]:
            traceback.print_exc()
        return _said(error)
    return CLEAN


def _said(error: Exception) -> int:
    """Say an exception in a line, and return its exit code."""
    from kvinspect.device.choose import DeviceError
    from kvinspect.document.problem import DocumentError
    from kvinspect.geometry.runs import Intricate
    from kvinspect.output.safe import safe

    if isinstance(error, DocumentError):
        print_problems(error.errors)
        return FINDINGS if all(problem.kind == "stopped" for problem in error.errors) else INPUT
    if isinstance(error, DeviceError):
        say(f"kvinspect: {safe(str(error))}")
        return DEVICE
    if isinstance(error, Intricate):
        say(f"kvinspect: this cannot be drawn: {error}")
        return INPUT
    if isinstance(error, OSError):
        say(f"kvinspect: {safe(str(error))}")
        return INPUT
    kind = type(error).__name__
    say(f"kvinspect: internal error: {kind}: {safe(str(error))[:300]}")
    say(f"This is a fault of kvinspect {__version__}. Run again with --debug and report what it prints to {ISSUES}.")
    return INTERNAL
