"""`kvinspect doctor`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, INPUT, bad_call, print_problems
from kvinspect.cli.files import answers_of, several
from kvinspect.cli.options import Coloured, Debug, Engine, Output, Wide
from kvinspect.cli.output import ENDINGS, Color, Format, Report, by_ending

EXAMPLES = """\b
Examples:
  kvinspect doctor
  kvinspect doctor configs/whisper-large-v3-rocm.yaml
  kvinspect doctor captured.yaml -o report.md
  kvinspect doctor configs/llama-3.1-8b.yaml --installed
"""


def doctor(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE...]", help="Documents, captured or not; - for stdin. Absent: print versions."),
    ] = None,
    engine: Engine = None,
    installed: Annotated[
        bool, typer.Option("--installed", help="Compare with the vLLM that is installed here; a minute at first.")
    ] = False,
    how: Annotated[
        Format | None, typer.Option("--format", "-f", help="Absent: a table in a terminal, else Markdown.")
    ] = None,
    output: Output = None,
    color: Coloured = Color.auto,
    wide: Wide = False,
    debug: Debug = False,
) -> None:
    """Print a block for a bug report: versions, groups, decisions, and where a captured engine differs.

    With --installed: compare the answers of the installed vLLM's classes with those that kvinspect ships.
    Ends with 1 where there is something to report, 2 where a document cannot be judged or vLLM is not installed.
    """
    from kvinspect.api.doctor import doctor as api
    from kvinspect.compare.doctor_answer import HereAnswer
    from kvinspect.report.doctor import here_page, page

    how = how or _by_place(output)
    if installed:
        if not files:
            raise bad_call("name a document that both are asked about", "FILE")
        _beside(files, how, output, color)
        return
    if not files:
        Report([HereAnswer()], here_page).emit(how, output, color)
        return
    answers, codes = answers_of(files, "kv_cache_config", lambda document: api(document, engine=engine))
    Report(answers, page, several(files)).emit(how, output, color)
    raise typer.Exit(max([*codes, *(CLEAN if answer.clean else FINDINGS for answer in answers)], default=CLEAN))


def _by_place(output: str | None) -> Format:
    """A terminal shows tables; a file or a pipe is pasted into a report."""
    if output in (None, "-") and sys.stdout.isatty():
        return Format.table
    return by_ending(output, ENDINGS, Format.markdown) if output != "-" else Format.markdown


def _beside(files: list[str], how: Format, output: str | None, color: Color) -> None:
    """The documents under the shipped catalogue and under what the installed vLLM answers."""
    from kvinspect.api.doctor import with_installed
    from kvinspect.document.problem import DocumentError
    from kvinspect.report.catalogue_comparison import page

    answers, codes = [], []
    for name in files:
        try:
            answers.append(with_installed(name))
        except DocumentError as error:
            print_problems(error.errors)
            codes.append(INPUT)
    Report(answers, page, several(files)).emit(how, output, color)
    raise typer.Exit(max([*codes, *(CLEAN if answer.clean else FINDINGS for answer in answers)], default=CLEAN))
