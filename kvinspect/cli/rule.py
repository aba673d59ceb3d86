"""`kvinspect rule`."""

from __future__ import annotations

import json
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from kvinspect.cli.exits import bad_call
from kvinspect.cli.options import Coloured, Debug, Output, Wide, codes
from kvinspect.cli.output import Color, by_ending, look_of, write
from kvinspect.output.safe import Syntax

if TYPE_CHECKING:
    from kvinspect.linting.rule import Rule

EXAMPLES = """\b
Examples:
  kvinspect rule
  kvinspect rule KV103
"""


class How(str, Enum):
    """How rules are printed."""

    text = "text"
    json = "json"


ENDINGS = {".txt": How.text, ".md": How.text, ".json": How.json}


def rule(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="[RULE]", help="A code, its beginning, or a name; absent: all rules.", autocompletion=codes
        ),
    ] = None,
    how: Annotated[
        How | None, typer.Option("--format", "-f", help="Absent: by the ending of --output, else text.")
    ] = None,
    output: Output = None,
    color: Coloured = Color.auto,
    wide: Wide = False,
    debug: Debug = False,
) -> None:
    """Print the documentation of a lint rule, or list all rules."""
    from kvinspect.linting.registry import UnknownRule, all_rules, rule_named

    try:
        rules = [one for one in all_rules() if one.code.startswith((code or "").upper())]
        rules = rules or [rule_named(code or "")]
    except UnknownRule as error:
        raise bad_call(str(error), "RULE") from None
    if (how or by_ending(output, ENDINGS, How.text)) is How.json:
        write(json.dumps([_as_dict(one) for one in rules], indent=2) + "\n", output, Syntax.QUOTED)
    elif len(rules) == 1:
        from kvinspect.linting.rule_page import page

        write(page(rules[0].code) or f"{rules[0].summary}\n", output, Syntax.TEXT)
    else:
        _list(rules, output, color)


def _as_dict(one: Rule) -> dict[str, str]:
    from kvinspect.linting.rule_page import page

    head = {"code": one.code, "name": one.name, "severity": one.severity.word, "releases": one.releases}
    return {**head, "summary": one.summary, "help": page(one.code)}


def _list(rules: list[Rule], output: str | None, color: Color) -> None:
    from kvinspect.report import terminal
    from kvinspect.report.page_parts import Column, Page, Table, cell, columns

    rows = tuple((cell(one.code), cell(one.name), cell(one.severity.word), cell(one.summary)) for one in rules)
    page = Page((Table(columns("code", "name", "severity", Column("what it finds", "prose")), rows),))
    write(terminal.render(page, **look_of(output, color)._asdict()), output, Syntax.TEXT)
