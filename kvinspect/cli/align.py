"""`kvinspect align`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, INPUT, print_problems, worst
from kvinspect.cli.output import Color, Format, emit

if TYPE_CHECKING:
    from kvinspect.document.problem import DocumentError
    from kvinspect.document.source import Source
    from kvinspect.engine.answer import AlignAnswer
    from kvinspect.report.page import Page

EXAMPLES = """\b
Examples:
  kvinspect align configs/whisper-large-v3-rocm.yaml
  kvinspect align configs/whisper-large-v3-rocm.yaml --engine 0.27 --explain
  kvinspect align configs/qwen3-next-80b-a3b.yaml --verify --num-blocks 8
  kvinspect align configs/ --format json --device none
"""


def align(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Documents, folders of them, or - for stdin.")],
    engine: Annotated[str | None, typer.Option(help="vLLM release, e.g. 0.27; wins over the document's.")] = None,
    device: Annotated[str, typer.Option(help="auto, cuda, cuda:N, cpu, meta or none.")] = "auto",
    verify: Annotated[
        bool, typer.Option("--verify", help="Write block IDs through each view, read them back.")
    ] = False,
    num_blocks: Annotated[int | None, typer.Option(min=1, help="Blocks, in place of the document's number.")] = None,
    how: Annotated[Format, typer.Option("--format", "-f", help="How to print the answer.")] = Format.table,
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")] = None,
    all_layers: Annotated[bool, typer.Option("--all-layers", help="Do not fold alike layers.")] = False,
    layer: Annotated[str | None, typer.Option(metavar="GLOB", help="Show only layers that match.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Give the reason of every step.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
    color: Annotated[Color, typer.Option(help="Colour the output.")] = Color.auto,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")] = False,
) -> None:
    """How vLLM lays out and shares a KV cache, and what its alignment of shared views decides.

    Ends with 1 where an allocation is unsound or the engine refuses, 2 where a document cannot be judged, 3 where the
    device is not there.
    """
    from kvinspect.cli.files import sources
    from kvinspect.document.problem import DocumentError

    answers: list[AlignAnswer] = []
    codes = []
    for found in sources(files, "kv_cache_config"):
        try:
            answers.append(_answer(found, engine, device, num_blocks, verify))
            codes.append(CLEAN if answers[-1].clean else FINDINGS)
        except DocumentError as error:
            print_problems(error.errors)
            codes.append(INPUT)
    if answers and not quiet:
        pages = _pages(answers, all_layers, layer, explain)
        emit([answer.to_dict() for answer in answers], pages, how, output, color)
    raise typer.Exit(worst(codes))


def _answer(
    found: Source | DocumentError, engine: str | None, device: str, num_blocks: int | None, verify: bool
) -> AlignAnswer:
    from kvinspect import api
    from kvinspect.cli.progress import progress_bar
    from kvinspect.document.load import from_source
    from kvinspect.document.problem import DocumentError

    if isinstance(found, DocumentError):
        raise found
    try:
        with progress_bar(found.name, verify) as progress:
            return api.align(
                from_source(found),
                engine=engine,
                device=device,
                num_blocks=num_blocks,
                verify=verify,
                progress=progress,
            )
    except ValueError as error:
        if isinstance(error, DocumentError):
            raise
        raise typer.BadParameter(str(error), param_hint="--device") from None


def _pages(answers: list[AlignAnswer], all_layers: bool, layer: str | None, explain: bool) -> Callable[[], list[Page]]:
    def made() -> list[Page]:
        from kvinspect.report.align import View, page

        view = View(all_layers, layer, explain)
        return [page(answer, view) for answer in answers]

    return made
