"""`kvinspect diff`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, INPUT, bad_call
from kvinspect.cli.options import AllLayers, AnyFormat, Coloured, Debug, Output, Quiet, Wide
from kvinspect.cli.output import Color, Format, Report

EXAMPLES = """\b
Examples:
  kvinspect diff configs/llama-3.1-8b.yaml --engine 0.25 --engine 0.26
  kvinspect diff examples/prefill-tp2.yaml examples/decode-tp4.yaml
  kvinspect diff examples/prefill-tp2.yaml examples/decode-tp4.yaml --engine 0.28 --format json
"""

Files = Annotated[list[str], typer.Argument(metavar="A [B]", help="One document or two; - for stdin.")]
Engines = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        metavar="RELEASE",
        help="vLLM release, e.g. 0.27; twice: one for A, one for B. Wins over the document's.",
    ),
]


def diff(
    files: Files,
    engines: Engines = None,
    how: AnyFormat = Format.table,
    output: Output = None,
    all_layers: AllLayers = False,
    quiet: Quiet = False,
    color: Coloured = Color.auto,
    wide: Wide = False,
    debug: Debug = False,
) -> None:
    """What changed between two KV caches, and whether the one can read blocks that the other has written.

    Ends with 1 where it cannot, 2 where that cannot be judged.
    """
    from kvinspect.api.diff import diff as compare
    from kvinspect.document.problem import DocumentError
    from kvinspect.report.diff import page

    if len(files) > 2:
        raise bad_call(f"two documents are compared, not {len(files)}")
    if files[1:] == ["-"] == files[:1]:
        raise bad_call("standard input holds one document, not two")
    try:
        answer = compare(*files, engines=engines or ())
    except DocumentError:
        raise
    except ValueError as error:
        raise bad_call(str(error)) from None
    if output or not quiet:
        Report([answer], lambda found: page(found, all_layers)).emit(how, output, color)
    raise typer.Exit({True: CLEAN, False: FINDINGS, None: INPUT}[answer.compatible])
