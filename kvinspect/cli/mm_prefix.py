"""`kvinspect mm-prefix`."""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from kvinspect.cli.exits import CLEAN, FINDINGS, bad_call
from kvinspect.cli.files import answers_of, several
from kvinspect.cli.options import Coloured, Debug, Engine, Output, Quiet, Wide
from kvinspect.cli.output import Color, Format, Report, by_ending, write_drawing

EXAMPLES = """\b
Examples:
  kvinspect mm-prefix configs/gemma-3-27b-two-images.yaml
  kvinspect mm-prefix configs/gemma-3-27b-two-images.yaml -o mask.svg
  kvinspect mm-prefix configs/ --format json
"""


class Shape(str, Enum):
    """How an answer is printed, pictures among it."""

    table = "table"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"
    svg = "svg"
    html = "html"


How = Annotated[Shape | None, typer.Option("--format", "-f", help="Absent: by the ending of --output, else a table.")]
ENDINGS = {".svg": Shape.svg, ".html": Shape.html, ".htm": Shape.html, ".json": Shape.json, ".yaml": Shape.yaml}
ENDINGS |= {".yml": Shape.yaml, ".md": Shape.markdown, ".txt": Shape.table}


def mm_prefix(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Documents, folders of them, or - for stdin.")],
    engine: Engine = None,
    how: How = None,
    output: Output = None,
    quiet: Quiet = False,
    color: Coloured = Color.auto,
    wide: Wide = False,
    debug: Debug = False,
) -> None:
    """Show which tokens of images and videos attend bidirectionally, and which ranges are skipped and why.

    Draws the attention mask: causal, within the window, bidirectional inside a range. Ends with 1 where something is
    odd about the features, 2 where a document cannot be judged.
    """
    from kvinspect.api import mm_prefix as api
    from kvinspect.report.mask.page import page

    answers, codes = answers_of(files, "multimodal", lambda found: api.mm_prefix(found, engine=engine))
    if answers and (output or not quiet):
        report = Report(answers, page, several(files))
        _print(report, how or by_ending(output, ENDINGS, Shape.table), output, color)
    raise typer.Exit(max([*codes, *(CLEAN if answer.clean else FINDINGS for answer in answers)], default=CLEAN))


def _print(report: Report, how: Shape, output: str | None, color: Color) -> None:
    from kvinspect.report.mask.html import html
    from kvinspect.report.mask.svg import svg

    if how not in (Shape.svg, Shape.html):
        report.emit(Format(how.value), output, color)
    elif len(report.answers) > 1:
        raise bad_call("a picture shows one document", "--format")
    else:
        drawing = svg if how is Shape.svg else html
        write_drawing(drawing(report.answers[0]), output)
