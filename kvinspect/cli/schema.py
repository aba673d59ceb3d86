"""`kvinspect schema`."""

from __future__ import annotations

from kvinspect.cli.options import Debug, Output
from kvinspect.cli.output import by_ending, write
from kvinspect.output.safe import Syntax

EXAMPLES = """\b
Examples:
  kvinspect schema
  kvinspect schema -o kvinspect.schema.json
"""


def schema(
    output: Output = None,
    debug: Debug = False,
) -> None:
    """The JSON Schema of an inspection document, for editors.

    A document names it in its first line: # yaml-language-server: $schema=PATH
    """
    from kvinspect.document.schema import json_schema
    from kvinspect.report.data import as_json

    by_ending(output, {".json": None}, None)
    write(as_json(json_schema()), output, Syntax.QUOTED)
