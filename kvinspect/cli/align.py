"""`kvinspect align`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, bad_call, worst
from kvinspect.cli.files import answers_of, several
from kvinspect.cli.options import AllLayers, AnyFormat, Coloured, Debug, Engine, Output, Quiet
from kvinspect.cli.output import Color, Format, Report

if TYPE_CHECKING:
    from kvinspect.document.document import Document
    from kvinspect.engine.answer import AlignAnswer

EXAMPLES = """\b
Examples:
  kvinspect align configs/whisper-large-v3-rocm.yaml
  kvinspect align configs/whisper-large-v3-rocm.yaml --engine 0.27 --explain
  kvinspect align configs/qwen3-next-80b-a3b.yaml --verify --num-blocks 8
  kvinspect align configs/ --format json --device none
"""


def align(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Documents, folders of them, or - for stdin.")],
    engine: Engine = None,
    device: Annotated[str, typer.Option(help="auto, cuda, cuda:N, cpu, meta or none.")] = "auto",
    verify: Annotated[
        bool, typer.Option("--verify", help="Write block IDs through each view, read them back.")
    ] = False,
    num_blocks: Annotated[int | None, typer.Option(min=1, help="Blocks, in place of the document's number.")] = None,
    how: AnyFormat = Format.table,
    output: Output = None,
    all_layers: AllLayers = False,
    layer: Annotated[str | None, typer.Option(metavar="GLOB", help="Show only layers that match.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Give the reason of every step.")] = False,
    quiet: Quiet = False,
    color: Coloured = Color.auto,
    debug: Debug = False,
) -> None:
    """How vLLM lays out and shares a KV cache, and what its alignment of shared views decides.

    Ends with 1 where an allocation is unsound or the engine refuses, 2 where a document cannot be judged, 3 where the
    device is not there.
    """
    from kvinspect.report.align import View, page

    def ask(document: Document) -> AlignAnswer:
        return _answer(document, engine, device, num_blocks, verify)

    answers, codes = answers_of(files, "kv_cache_config", ask)
    shown = answers if layer is None else [answer.only(layer) for answer in answers]
    if layer is not None and answers and not any(answer.layers for answer in shown):
        raise bad_call(f"no layer matches {layer!r}", "--layer")
    if output or not quiet:
        view = View(all_layers, explain)
        Report(shown, lambda answer: page(answer, view), several(files)).emit(how, output, color)
    raise typer.Exit(worst([*codes, *(CLEAN if answer.clean else FINDINGS for answer in answers)]))


def _answer(document: Document, engine: str | None, device: str, num_blocks: int | None, verify: bool) -> AlignAnswer:
    from kvinspect.api import align as api
    from kvinspect.cli.progress import progress_bar
    from kvinspect.device.choose import UnknownDevice

    try:
        with progress_bar(document.source.name, verify) as progress:
            return api.align(
                document, engine=engine, device=device, num_blocks=num_blocks, verify=verify, progress=progress
            )
    except UnknownDevice as error:
        raise bad_call(str(error), "--device") from None
