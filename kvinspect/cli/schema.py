"""`kvinspect schema`."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.output import write

EXAMPLES = """\b
Examples:
  kvinspect schema
  kvinspect schema -o kvinspect.schema.json
"""


def schema(
    output: Annotated[str | None, typer.Option("--output", "-o", metavar="FILE", help="Write to a file.")] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")] = False,
) -> None:
    """The JSON Schema of an inspection document, for editors.

    A document names it in its first line: # yaml-language-server: $schema=PATH
    """
    from kvinspect.document.schema import json_schema
    from kvinspect.report.data import as_json

    write(as_json(json_schema()), output)
