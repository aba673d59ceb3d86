"""The program: its commands, what is common to them, and what becomes of an exception."""

from __future__ import annotations

import gc
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Annotated, Any

import typer

from kvinspect.cli.command import Command, Group
from kvinspect.cli.command_list import COMMANDS
from kvinspect.cli.exits import (
    CLEAN,
    DEVICE,
    FINDINGS,
    INPUT,
    INTERNAL,
    INTERRUPTED,
    PIPE,
    CallError,
    print_problems,
    say,
)
from kvinspect.output import inputs, waiting
from kvinspect.output.streams import NobodyReads, guarded
from kvinspect.version import __version__

FIRST_PAGE = f"""kvinspect {__version__}: how vLLM lays out, shares and sizes a KV cache, without a GPU.

Does it fit, and how many requests?
  kvinspect plan Qwen/Qwen3-32B --gpu 2xH100 --max-model-len 32k

Which CUDA graph mode results?
  kvinspect cg-support Qwen/Qwen3-8B --max-num-seqs 512

Are the files of a repository sound?
  kvinspect lint .

All commands: kvinspect --help
"""

EXIT_CODES = (
    "Exit codes: 0 nothing to report; 1 a finding, a refusal, or a model that does not fit; 2 the call or an input is "
    "wrong, or something cannot be judged; 3 the device is missing."
)

OF_MODELS = ("plan", "fit", "align", "cg-support", "map", "lint", "diff", "explain")
"""The commands that take a model with the flags of `vllm serve`; `diff` takes two."""

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
        help="Predict how vLLM lays out, shares and sizes its KV cache, before a GPU is touched.",
        epilog=EXIT_CODES,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120},
    )
    app.callback()(_common)
    for name in _needed(words):
        module = import_module(f"kvinspect.cli.{name.replace('-', '_')}")
        function, summary = COMMANDS[name]
        app.command(name, cls=_kind(name), short_help=summary, epilog=module.EXAMPLES)(getattr(module, function))
    return app


def _kind(name: str) -> type[Command]:
    """How a command reads its words."""
    if name not in OF_MODELS:
        return Command
    from kvinspect.cli.serve_words import WithServeWords, WithTwoSides

    return WithTwoSides if name == "diff" else WithServeWords


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
    waiting.show(None if {"-q", "--quiet"} & set(sys.argv) else _spinner)
    with guarded():
        code = _ended(lambda: _call(sys.argv[1:]))
        return _ended(sys.stdout.flush) or code


def _spinner(what: str) -> AbstractContextManager[None]:
    """What names a thing that is waited for, as few calls wait for anything."""
    from kvinspect.cli.progress import spinner

    return spinner(what)


def _call(words: Sequence[str]) -> None:
    """Do what the words say; without any, say what can be asked."""
    if not words and "_KVINSPECT_COMPLETE" not in os.environ:
        print(FIRST_PAGE, end="")
        return
    raise SystemExit(program(words)(prog_name="kvinspect", standalone_mode=False))


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


def _bad_call(error: Any) -> int:
    """Say what is wrong with a call, in a line, and a call that works."""
    from kvinspect.cli.repair import mended
    from kvinspect.output.safe import safe

    text = error.format_message().removeprefix("Invalid value: ")
    say(f"Error: {safe(text)}")
    hint = getattr(error, "param_hint", None) or ""
    parameter = getattr(error, "param", None)
    flags = [hint] if isinstance(hint, str) else list(hint)
    flags = [one.strip(" '") for text in flags for one in text.split("/")] + list(getattr(parameter, "opts", ()))
    context = getattr(error, "ctx", None)
    path = context.command_path if context else _command()
    say(f"Help: {mended(sys.argv[1:], text, flags, getattr(error, 'instead', '')) or f'{path} --help'}")
    return INPUT


def _command() -> str:
    """The program and the command that the call names."""
    named = sys.argv[1] if len(sys.argv) > 1 else ""
    return f"kvinspect {named}" if named in COMMANDS else "kvinspect"


def _said(error: Exception) -> int:
    """Say an exception in a line, and return its exit code."""
    from kvinspect.device.choose import DeviceError
    from kvinspect.document.problem import DocumentError
    from kvinspect.geometry.runs import Intricate
    from kvinspect.output.safe import safe

    if isinstance(error, CallError):
        return _bad_call(error)
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
