"""`kvinspect cg-support`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.exits import CLEAN, bad_call, code_of
from kvinspect.cli.files import answers_of, several
from kvinspect.cli.model_words import ModelOptions
from kvinspect.cli.options import (
    AllLayers,
    AnyFormat,
    Capability,
    Coloured,
    Debug,
    Engine,
    Explain,
    Gpu,
    Output,
    Quiet,
    Wide,
)
from kvinspect.cli.output import Color, Report
from kvinspect.cli.serve_words import unmarked

EXAMPLES = """\b
Examples:
  kvinspect cg-support configs/llama-4-maverick-tp8.yaml
  kvinspect cg-support examples/models/qwen3-8b --max-num-seqs 512
  kvinspect cg-support Qwen/Qwen3-8B --gpu H100
  kvinspect cg-support --engine 0.28 --backend FLASHINFER
  kvinspect cg-support --matrix
  kvinspect cg-support configs/ --strict --quiet
"""

Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[FILE... | MODEL [VLLM FLAGS...]]",
        help="Documents, folders, - for stdin; or a model, as for plan. Absent: list backends.",
    ),
]
Matrix = Annotated[
    bool, typer.Option("--matrix", help="Show which mode results from each requested mode and least support.")
]


def cg_support(
    files: Files = None,
    engine: Engine = None,
    backend: Annotated[str | None, typer.Option(metavar="NAME", help="Without FILE: show this backend alone.")] = None,
    platform: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of a model or the backends: cuda, rocm, xpu, cpu; absent: cuda."),
    ] = None,
    capability: Capability = None,
    gpu: Gpu = None,
    matrix: Matrix = False,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="End with 1 where another mode results than requested, 2 where something given is not modeled.",
        ),
    ] = False,
    how: AnyFormat = None,
    output: Output = None,
    all_layers: AllLayers = False,
    explain: Explain = False,
    quiet: Quiet = False,
    color: Coloured = Color.auto,
    wide: Wide = False,
    debug: Debug = False,
) -> None:
    """Show which CUDA graph mode results from the requested one, and which attention backend limits it.

    Ends with 1 where the engine refuses, 2 where a document cannot be judged.
    """
    from kvinspect.api import cg_support as api
    from kvinspect.question.documents import names_model
    from kvinspect.report import cg_support as report

    if not files:
        if capability or gpu:
            raise bad_call("is of a model, and none is named", "--gpu" if gpu else "--device-capability")
        shown = _reference(engine, backend, platform or "cuda", matrix)
        shown.emit(how, output, color)
        return
    words = unmarked(files)
    options = ModelOptions(engine, platform, capability, gpu=gpu, needs_memory=False)
    if matrix and names_model(words):
        raise bad_call("is of a document, or without FILE of vLLM's defaults", "--matrix")
    if matrix:
        tables, codes = answers_of(
            words,
            "kv_cache_config",
            options.of_documents(lambda found, engine: api.cg_support_matrix(found, engine=engine)),
        )
        Report(tables, report.matrix_page, several(words)).emit(how, output, color)
        raise typer.Exit(max(codes, default=CLEAN))
    of_document, of_model = (
        options.of_documents(lambda found, engine: api.cg_support(found, engine=engine)),
        options.of_models(api.of_model),
    )
    answers, codes = answers_of(words, "kv_cache_config", of_document, of_model)
    if output or not quiet:
        Report(answers, lambda answer: report.page(answer, report.View(all_layers, explain)), several(words)).emit(
            how, output, color
        )
    ends = (
        code_of(answer.clean and (answer.as_requested or not strict), answer.setting.not_modelled, strict)
        for answer in answers
    )
    raise typer.Exit(max([*codes, *ends], default=CLEAN))


def _reference(engine: str | None, backend: str | None, platform: str, matrix: bool) -> Report:
    """What can be said without a document: the backends of a release, or the matrix under vLLM's defaults."""
    from kvinspect.api import cg_support as api
    from kvinspect.report import cg_support as report

    if matrix:
        return Report([api.cg_support_matrix(engine=engine)], report.matrix_page)
    if platform not in ("cuda", "rocm", "xpu", "cpu"):
        raise bad_call(f"{platform!r} is not one of 'cuda', 'rocm', 'xpu', 'cpu'", "--platform")
    return Report([api.cg_support_table(engine=engine, platform=platform, backend=backend)], report.table_page)
