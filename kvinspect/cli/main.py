"""The program: its commands, what is common to them, and what becomes of an exception."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Annotated

import typer

from kvinspect import __version__
from kvinspect.cli import align, capture, cg_support, diff, doctor, lint, map, mm_prefix, plan, rule, schema
from kvinspect.cli.exits import CLEAN, DEVICE, INPUT, INTERNAL, INTERRUPTED, PIPE, print_problems, say
from kvinspect.cli.serve_words import WithServeWords
from kvinspect.output import inputs
from kvinspect.output.streams import NobodyReads, guarded

app = typer.Typer(
    name="kvinspect",
    help="How vLLM lays out, shares and sizes its KV cache, told before a GPU is touched.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("align", epilog=align.EXAMPLES)(align.align)
app.command("cg-support", epilog=cg_support.EXAMPLES)(cg_support.cg_support)
app.command("mm-prefix", epilog=mm_prefix.EXAMPLES)(mm_prefix.mm_prefix)
app.command("plan", cls=WithServeWords, epilog=plan.EXAMPLES, context_settings={"ignore_unknown_options": True})(
    plan.plan
)
app.command("diff", epilog=diff.EXAMPLES)(diff.diff)
app.command("lint", epilog=lint.EXAMPLES)(lint.lint)
app.command("rule", epilog=rule.EXAMPLES)(rule.rule)
app.command("map", epilog=map.EXAMPLES)(map.draw)
app.command("capture", epilog=capture.HOW)(capture.capture)
app.command("doctor", epilog=doctor.EXAMPLES)(doctor.doctor)
app.command("schema", epilog=schema.EXAMPLES)(schema.schema)

ISSUES = "the project's issue tracker"


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kvinspect {__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    pass


def run() -> int:
    """Run the program and return its exit code.

    Every exception ends in one line and a code; a traceback is shown only under `--debug`. What nobody can read on
    standard error changes no code; an answer that standard output does not take is an error.
    """
    inputs.begin()
    with guarded():
        code = _ended(app)
        return _ended(sys.stdout.flush) or code


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
        return INPUT
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
