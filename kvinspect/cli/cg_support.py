"""`kvinspect cg-support`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, bad_call, worst
from kvinspect.cli.files import answers_of, several
from kvinspect.cli.options import AllLayers, AnyFormat, Coloured, Debug, Engine, Output, Quiet
from kvinspect.cli.output import Color, Format, Report

EXAMPLES = """\b
Examples:
  kvinspect cg-support configs/llama-4-maverick-tp8.yaml
  kvinspect cg-support --engine 0.28 --backend FLASHINFER
  kvinspect cg-support --matrix
  kvinspect cg-support configs/ --strict --quiet
"""

Files = Annotated[
    list[str] | None, typer.Argument(metavar="[FILE...]", help="Documents, folders, - for stdin; none: the backends.")
]
Matrix = Annotated[bool, typer.Option("--matrix", help="Requested mode × least support → resulting mode.")]


def cg_support(
    files: Files = None,
    engine: Engine = None,
    backend: Annotated[str | None, typer.Option(metavar="NAME", help="Without FILE: this backend alone.")] = None,
    platform: Annotated[str, typer.Option(metavar="NAME", help="Without FILE: cuda, rocm, xpu or cpu.")] = "cuda",
    matrix: Matrix = False,
    strict: Annotated[bool, typer.Option("--strict", help="End with 1 where another mode comes out.")] = False,
    how: AnyFormat = Format.table,
    output: Output = None,
    all_layers: AllLayers = False,
    quiet: Quiet = False,
    color: Coloured = Color.auto,
    debug: Debug = False,
) -> None:
    """How far attention backends let CUDA graphs go, and which mode comes out of the requested one.

    Ends with 1 where the engine refuses, 2 where a document cannot be judged.
    """
    from kvinspect.api import cg_support as api
    from kvinspect.report import cg_support as report

    if not files:
        shown = _reference(engine, backend, platform, matrix)
        shown.emit(how, output, color)
        return
    if matrix:
        tables, codes = answers_of(files, "kv_cache_config", lambda found: api.cg_support_matrix(found, engine=engine))
        Report(tables, report.matrix_page, several(files)).emit(how, output, color)
        raise typer.Exit(worst(codes))
    answers, codes = answers_of(files, "kv_cache_config", lambda found: api.cg_support(found, engine=engine))
    if output or not quiet:
        Report(answers, lambda answer: report.page(answer, all_layers), several(files)).emit(how, output, color)
    fine = [answer.clean and (answer.as_requested or not strict) for answer in answers]
    raise typer.Exit(worst([*codes, *(CLEAN if good else FINDINGS for good in fine)]))


def _reference(engine: str | None, backend: str | None, platform: str, matrix: bool) -> Report:
    """What can be said without a document: the backends of a release, or the matrix under vLLM's defaults."""
    from kvinspect.api import cg_support as api
    from kvinspect.report import cg_support as report

    if matrix:
        return Report([api.cg_support_matrix(engine=engine)], report.matrix_page)
    if platform not in ("cuda", "rocm", "xpu", "cpu"):
        raise bad_call(f"{platform!r} is none of cuda, rocm, xpu, cpu", "--platform")
    return Report([api.cg_support_table(engine=engine, platform=platform, backend=backend)], report.table_page)
