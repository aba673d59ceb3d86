"""`kvinspect doctor`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, INPUT, print_problems, worst
from kvinspect.cli.files import several
from kvinspect.cli.options import Coloured, Debug, Output
from kvinspect.cli.output import Color, Format, Report

EXAMPLES = """\b
Examples:
  kvinspect doctor configs/llama-3.1-8b.yaml
  kvinspect doctor inspection.yaml planning.yaml --format json
"""


def doctor(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Documents; - for stdin.")],
    how: Annotated[Format, typer.Option("--format", "-f", help="How to print the answer.")] = Format.table,
    output: Output = None,
    color: Coloured = Color.auto,
    debug: Debug = False,
) -> None:
    """Whether the vLLM that is installed here answers for documents as the shipped catalogue does.

    The first call asks its classes, which takes a minute or two; no device is needed. Ends with 1 where something
    differs, 2 where a document cannot be judged or no vLLM can be asked.
    """
    from kvinspect.api.beside import beside
    from kvinspect.document.problem import DocumentError
    from kvinspect.report.beside import page

    answers, codes = [], []
    for name in files:
        try:
            answers.append(beside(name))
        except DocumentError as error:
            print_problems(error.errors)
            codes.append(INPUT)

    Report(answers, page, several(files)).emit(how, output, color)
    raise typer.Exit(worst([*codes, *(CLEAN if answer.clean else FINDINGS for answer in answers)]))
