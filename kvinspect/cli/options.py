"""Options that several commands share, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from kvinspect.cli.output import Color, Format, set_quiet, set_wide

Engine = Annotated[
    str | None, typer.Option(metavar="RELEASE", help="vLLM release, e.g. 0.27; overrides the document's.")
]
AnyFormat = Annotated[
    Format | None, typer.Option("--format", "-f", help="Absent: by the ending of --output, else a table.")
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write the answer to a file, in the format of its ending."),
]
AllLayers = Annotated[bool, typer.Option("--all-layers", help="Show each layer in a row of its own.")]
Explain = Annotated[bool, typer.Option("--explain", help="Give the reason of every step.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", callback=set_quiet, help="Print nothing but errors.")]
Coloured = Annotated[Color, typer.Option("--color", help="When to color the output.")]
Available = Annotated[
    str | None,
    typer.Option(
        "--available-kv-cache-memory", metavar="SIZE", help="Memory for the KV cache of each worker, e.g. 12.57GiB."
    ),
]
Gpu = Annotated[
    str | None,
    typer.Option("--gpu", metavar="NAME", help="GPU of a model: H100, 2xH100, local; `kvinspect gpus` lists them."),
]
GpuMemory = Annotated[
    str | None,
    typer.Option("--gpu-memory", metavar="SIZE", help="Memory of a GPU that --gpu does not know, e.g. 80GiB."),
]
Weights = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Size of all weights, e.g. 16.4GB; absent: read from the model's folder, or computed."
    ),
]
Platform = Annotated[
    str | None, typer.Option(metavar="NAME", help="Platform of a model: cuda, rocm, xpu or cpu; absent: cuda.")
]
Capability = Annotated[
    str | None,
    typer.Option("--device-capability", metavar="X.Y", help="Compute capability of a model's GPU, e.g. 9.0."),
]
Strict = Annotated[bool, typer.Option("--strict", help="End with 2 where something given is not modeled.")]
Wide = Annotated[
    bool, typer.Option("--wide", callback=set_wide, help="Make tables as wide as they need, with every column.")
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")]


def codes(incomplete: str) -> list[tuple[str, str]]:
    """(code, name) of the rules that a word may become, for a shell that completes it."""
    from kvinspect.linting.registry import all_rules

    return [(rule.code, rule.name) for rule in all_rules() if rule.code.startswith(incomplete.upper())]
