"""`kvinspect doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, worst
from kvinspect.cli.files import answers_of, several
from kvinspect.cli.options import Coloured, Debug, Engine, Output
from kvinspect.cli.output import Color, Format, Report

EXAMPLES = """\b
Examples:
  kvinspect doctor configs/whisper-large-v3-rocm.yaml
  kvinspect doctor captured.yaml -o report.md
"""


def doctor(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Captured documents, or any; - for stdin.")],
    engine: Engine = None,
    how: Annotated[Format, typer.Option("--format", "-f", help="How to print the answer.")] = Format.markdown,
    output: Output = None,
    color: Coloured = Color.auto,
    debug: Debug = False,
) -> None:
    """A block to paste into a bug report: versions, groups, what was decided, where a captured engine did otherwise.

    Ends with 1 where there is something to report, 2 where a document cannot be judged.
    """
    from kvinspect.api.doctor import doctor as api
    from kvinspect.report.doctor import page

    answers, codes = answers_of(files, "kv_cache_config", lambda document: api(document, engine=engine))
    Report(answers, page, several(files)).emit(how, output, color)
    raise typer.Exit(worst([*codes, *(CLEAN if answer.clean else FINDINGS for answer in answers)]))
