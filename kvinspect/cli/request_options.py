"""`--requests 32 --prompt 8k --output 1k`, as the shape of the requests that a plan is asked about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated

import typer

from kvinspect.cli.exits import bad_call
from kvinspect.document.numbers import human_number

if TYPE_CHECKING:
    from kvinspect.planning.request_load import RequestShape

Requests = Annotated[str | None, typer.Option("--requests", metavar="N", help="Whether N concurrent requests fit.")]
Prompt = Annotated[str | None, typer.Option("--prompt", metavar="TOKENS", help="Tokens of each prompt: 8k.")]
Output = Annotated[
    str | None,
    typer.Option("--output", metavar="TOKENS|FILE", help="With --prompt, tokens of each answer; else as -o."),
]
SharedPrefix = Annotated[
    str | None, typer.Option("--shared-prefix", metavar="TOKENS", help="Tokens that all prompts begin with.")
]
File = Annotated[str | None, typer.Option("-o", metavar="FILE", help="Write to a file.")]

_TOKENS = re.compile(r"[0-9][0-9.]*[kKmMgGtT]?", re.ASCII)


def file_of(file: str | None, output: str | None, prompt: str | None) -> tuple[str | None, str | None]:
    """(file, tokens of the answers): `--output` names a file, unless a prompt has a length and it is a number."""
    if output is None or (prompt is not None and _TOKENS.fullmatch(output)):
        return file, output
    if file is not None:
        raise bad_call("-o and --output name the same thing; give one", "--output")
    return output, None


def shape_of(
    requests: str | None, prompt: str | None, output: str | None, shared_prefix: str | None
) -> RequestShape | None:
    """The shape of the requests, None where the call asks about none. Raises BadParameter for what is no number."""
    if requests is None and prompt is None and shared_prefix is None:
        return None
    from kvinspect.planning.request_load import RequestShape

    if requests is None or prompt is None:
        more = "--prompt 8k --output 1k" if requests is not None else "--requests 32"
        raise bad_call("requests have a number and a length: --requests 32 --prompt 8k --output 1k", None, more)
    said = {
        "--requests": requests,
        "--prompt": prompt,
        "--output": output or "1",
        "--shared-prefix": shared_prefix or "0",
    }
    try:
        return RequestShape(*(_number(name, text) for name, text in said.items())).checked()
    except ValueError as error:
        raise bad_call(str(error)) from None


def _number(name: str, text: str) -> int:
    try:
        return human_number(text)
    except ValueError as error:
        raise bad_call(f"expected {error}, found {text[:60]!r}", name) from None
