"""`kvinspect models`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.listed import Listed
from kvinspect.cli.options import AnyFormat, Coloured, Debug, Output
from kvinspect.cli.output import Color, Report

EXAMPLES = """\b
Examples:
  kvinspect models
  kvinspect models qwen3
"""


def models(
    word: Annotated[str, typer.Argument(metavar="[WORD]", help="List only models whose name has this word.")] = "",
    how: AnyFormat = None,
    output: Output = None,
    color: Coloured = Color.auto,
    debug: Debug = False,
) -> None:
    """List the models that `plan` knows by name without a network; their config.json comes with kvinspect."""
    from kvinspect.bundled.lookup import bundled_names
    from kvinspect.report.models import page

    found = tuple(name for name in bundled_names() if word.lower() in name.lower())
    Report([Listed("models", found)], lambda answer: page(answer.rows)).emit(how, output, color)
