"""`kvinspect fit`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kvinspect.cli import options, request_options
from kvinspect.cli.exits import as_bad_call, bad_call, code_of
from kvinspect.cli.model_words import ModelCall, ModelOptions
from kvinspect.cli.output import Color, Format, Report, by_ending
from kvinspect.cli.serve_words import unmarked

if TYPE_CHECKING:
    from kvinspect.hardware.gpu import Gpu
    from kvinspect.planning.request_load import RequestShape
    from kvinspect.question.fit import FitAnswer
    from kvinspect.question.model import ModelPlan

EXAMPLES = """\b
Examples:
  kvinspect fit Qwen/Qwen3-32B
  kvinspect fit Qwen/Qwen3-32B --requests 32 --prompt 8k --output 1k --gpu L40S,H100,H200
  kvinspect fit deepseek-ai/DeepSeek-V3 --kv-cache-dtype fp8 --requests 64 --prompt 16k --output 2k --gpu H200,MI300X
"""

ENDINGS = {
    ".json": Format.json,
    ".yaml": Format.yaml,
    ".yml": Format.yaml,
    ".md": Format.markdown,
    ".txt": Format.table,
}


def fit(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MODEL [VLLM FLAGS...]", help="A config.json, its folder, a hub id, or a `vllm serve` command."
        ),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(
            "--gpu",
            metavar="NAMES",
            help="GPUs to try, with commas; a number is the most: L4,8xH100. Absent: usual ones.",
        ),
    ] = None,
    requests: request_options.Requests = None,
    prompt: request_options.Prompt = None,
    output: request_options.Output = None,
    shared_prefix: request_options.SharedPrefix = None,
    engine: options.Engine = None,
    weights: options.Weights = None,
    like: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Plan with this model's config.json, for a fine-tune of it.")
    ] = None,
    env: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A variable of vLLM's environment. Repeatable.")
    ] = None,
    how: Annotated[
        Format | None, typer.Option("--format", "-f", help="Absent: by the ending of -o, else a table.")
    ] = None,
    file: request_options.File = None,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
    color: options.Coloured = Color.auto,
    wide: options.Wide = False,
    debug: options.Debug = False,
) -> None:
    """Find the smallest number of each GPU that holds a model, and print the command that starts it.

    Sizes of tensor and pipeline parallelism are tried, each planned under the release's rules. Without --requests one
    request of the maximum length has to fit. Ends with 1 where it fits on none of the GPUs.
    """
    from kvinspect.document.problem import DocumentError
    from kvinspect.report.fit import page

    file, tokens = request_options.file_of(file, output, prompt)
    kind = how or by_ending(file, ENDINGS, Format.table)
    shape = request_options.shape_of(requests, prompt, tokens, shared_prefix)
    try:
        call = ModelOptions(engine, weights=weights, like=like, env=env or ()).call(unmarked(words or ()))
        answer = _answer(call, gpu, shape)
    except DocumentError:
        raise
    except ValueError as error:
        raise as_bad_call(error) from None
    if file or not quiet:
        Report([answer], page).emit(kind, file, color)
    raise typer.Exit(code_of(answer.clean, answer.not_modelled, strict))


def _answer(call: ModelCall, gpus: str | None, shape: RequestShape | None) -> FitAnswer:
    """The smallest number of each GPU, with the line that starts it."""
    from kvinspect.hardware.gpus import parse_gpus
    from kvinspect.question.fit import USUAL, Wanted, smallest
    from kvinspect.question.model import spoken

    if call.command.document is not None:
        raise bad_call("a planning document says by itself what its memory is; give a model")
    names = USUAL if gpus is None else [name for name in gpus.split(",") if name.strip()]
    kinds = [parse_gpus(name) for name in names]
    if not kinds:
        raise bad_call("name a GPU or several, with commas: L4,H100", "--gpu")

    def plan(gpu: Gpu, arguments: Mapping[str, Any]) -> ModelPlan:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call.on(gpu, arguments).question().plan

    with call.places(), spoken(call.model):
        answer = smallest(Wanted(plan, call.arguments, shape), kinds)
    return answer._replace(
        model_source=call.command.found.source, commands=tuple(call.serve_line(one.flags) for one in answer.deployments)
    )
