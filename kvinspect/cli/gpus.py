"""`kvinspect gpus`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.listed import Listed
from kvinspect.cli.options import AnyFormat, Coloured, Debug, Output, Wide
from kvinspect.cli.output import Color, Report

EXAMPLES = """\b
Examples:
  kvinspect gpus
  kvinspect gpus h100
"""


def gpus(
    word: Annotated[str, typer.Argument(metavar="[WORD]", help="List only GPUs whose name has this word.")] = "",
    how: AnyFormat = None,
    output: Output = None,
    color: Coloured = Color.auto,
    wide: Wide = False,
    debug: Debug = False,
) -> None:
    """List the GPUs that `plan --gpu` knows by name: memory, platform, compute capability, and source."""
    from kvinspect.hardware.gpus import known_gpus
    from kvinspect.report.gpus import page

    wanted = word.lower().replace(" ", "")
    found = tuple(
        gpu for gpu in known_gpus() if any(wanted in name.lower().replace(" ", "") for name in (gpu.name, *gpu.aliases))
    )
    Report([Listed("gpus", found)], lambda answer: page(answer.rows)).emit(how, output, color)
