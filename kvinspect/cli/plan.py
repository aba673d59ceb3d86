"""`kvinspect plan`."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kvinspect.cli import options, request_options
from kvinspect.cli.exits import as_bad_call, bad_call
from kvinspect.cli.model_words import ModelCall, ModelOptions
from kvinspect.cli.output import Color, Format, Report
from kvinspect.cli.plan_output import Kind, Show, print_plan, print_sweep
from kvinspect.cli.serve_words import unmarked

if TYPE_CHECKING:
    from kvinspect.models.memory import Memory
    from kvinspect.planning.request_load import RequestShape
    from kvinspect.question.change import Change
    from kvinspect.question.model import ModelPlan

EXAMPLES = """\b
Examples:
  kvinspect plan examples/models/qwen3-8b --available-kv-cache-memory 12.57GiB
  kvinspect plan examples/models/qwen3-8b -tp 4 --kv-cache-dtype fp8 --kv-cache-memory-bytes 20G -o plan.yaml
  kvinspect plan examples/models/qwen3-8b --gpu 2xH100 --weights 16.4GB -o report.html
  kvinspect plan examples/models/qwen3-8b --gpu-memory 80GiB --weights 16.4GB --sweep max_model_len=8k..128k

Every flag of `vllm serve` is taken, --config FILE too; flags win over the file.
"""


Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[MODEL] [VLLM FLAGS...]",
        help="A config.json, its folder, a hub id, a `vllm serve --config` file, or a planning document.",
    ),
]
Sweeps = Annotated[
    list[str] | None,
    typer.Option(
        "--sweep",
        metavar="FLAG=VALUES",
        help="Plan for each value: 8k..1M doubles, 0.5..0.9..0.1 steps, a,b,c lists. Repeatable.",
    ),
]


def plan(
    words: Words = None,
    engine: options.Engine = None,
    platform: options.Platform = None,
    capability: options.Capability = None,
    available: options.Available = None,
    gpus: options.Gpu = None,
    gpu: options.GpuMemory = None,
    weights: options.Weights = None,
    calibrate: Annotated[
        str | None, typer.Option(metavar="FILE", help="A start-up log whose available memory replaces the estimate.")
    ] = None,
    like: Annotated[
        str | None, typer.Option(metavar="MODEL", help="Plan with this model's config.json, for a fine-tune of it.")
    ] = None,
    sweep: Sweeps = None,
    env: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE", help="A variable of vLLM's environment. Repeatable; your own environment is not read."
        ),
    ] = None,
    strict: options.Strict = False,
    log: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A start-up log to explain and compare; - for stdin."),
    ] = None,
    how: Annotated[
        Kind | None, typer.Option("--format", "-f", help="Absent: by the ending of --output, else a table.")
    ] = None,
    file: request_options.File = None,
    output: request_options.Output = None,
    requests: request_options.Requests = None,
    prompt: request_options.Prompt = None,
    shared_prefix: request_options.SharedPrefix = None,
    all_layers: options.AllLayers = False,
    explain: options.Explain = False,
    quiet: options.Quiet = False,
    color: options.Coloured = Color.auto,
    wide: options.Wide = False,
    debug: options.Debug = False,
) -> None:
    """Show how many blocks, tokens and requests vLLM's KV cache holds, and the memory that a request needs.

    With -o FILE.yaml the cache is written as an inspection document for align, cg-support, lint and map.
    Ends with 1 where the engine refuses, 2 where nothing can be computed.
    """
    file, tokens = request_options.file_of(file, output, prompt)
    shape = request_options.shape_of(requests, prompt, tokens, shared_prefix)
    show = Show.of(how, file, all_layers, explain, quiet, color, strict)
    device, memory = (platform, capability), (available, gpus, gpu, weights)
    with _slips_as_errors():
        given = ModelOptions(engine, *device, *memory, like, _measured(calibrate), env or ())
        code = _answered(unmarked(words or ()), given, _Asked(sweep, log, shape), show)
    raise typer.Exit(code)


@contextmanager
def _slips_as_errors() -> Iterator[None]:
    """What is wrong with the words of a call as an error of the call; errors with a place stay what they are."""
    from kvinspect.document.problem import DocumentError

    try:
        yield
    except DocumentError:
        raise
    except ValueError as error:
        raise as_bad_call(error) from None


class _Asked(NamedTuple):
    """What is asked beside one plan."""

    sweep: Sequence[str] | None
    log: str | None
    shape: RequestShape | None


def _answered(words: Sequence[str], given: ModelOptions, asked: _Asked, show: Show) -> int:
    """Print what is asked about the words, and return the exit code. Raises ValueError for words that are wrong."""
    if asked.shape is not None and (asked.sweep or asked.log is not None):
        raise bad_call(
            "requests are asked of one plan, without --sweep and --log", "--sweep" if asked.sweep else "--log"
        )
    if asked.log is not None:
        return _logged(asked.log, words, given, asked.sweep, show)
    call = _call(words, given)
    if asked.sweep:
        return _swept(call, asked.sweep, show)
    if call.command.document is not None:
        return _planned_document(call, show, asked.shape)
    return _planned(call, show, asked.shape)


def _measured(log: str | None) -> Memory | None:
    """The memory of the start-up whose log is named."""
    if log is None:
        return None
    from kvinspect.api.plan_log import measured

    return measured(log)


def _call(words: Sequence[str], given: ModelOptions) -> ModelCall:
    """What the words name. Raises ValueError for an unknown flag or model."""
    call = given.call(words)
    if call.command.document is not None and (call.command.arguments or any(call.budget) or call.variables):
        raise bad_call("a planning document says by itself what its arguments and its memory are")
    return call


def _planned_document(call: ModelCall, show: Show, shape: RequestShape | None) -> int:
    """Print the plan of a planning document, and return the exit code."""
    from kvinspect.api import plan as documents

    if shape is not None:
        raise bad_call("requests are asked of a model, and this is a planning document", "--requests")
    assert call.command.document is not None
    answer = documents.plan(call.command.document, engine=call.given.engine)
    print_plan(answer, None, show)
    return show.code(answer.clean, answer.not_modelled)


def _planned(call: ModelCall, show: Show, shape: RequestShape | None) -> int:
    """Print the plan of a model, with the requests that are asked about, and return the exit code."""
    from kvinspect.question.model import spoken

    with call.places(), spoken(call.model):
        asked = call.question()
        found = asked.plan
    found = found._replace(source=call.command.found.source)
    found = found if shape is None else found.with_requests(shape)
    found = _with_changes(found, call, shape)
    print_plan(found.plan, found, show, asked.cache if found.plan.starts else None, call.serve_line())
    fits = found.load is None or found.load.verdict != "does not fit"
    return show.code(found.clean and fits, found.plan.not_modelled)


def _with_changes(found: ModelPlan, call: ModelCall, shape: RequestShape | None) -> ModelPlan:
    """The plan with the single changes that would fit, where it is refused or tight for want of memory."""
    if not found.lacks_memory:
        return found
    from kvinspect.question.would_fit import Asked, would_fit

    def again(change: Change) -> ModelPlan:
        plan = call.again(change)
        return plan if shape is None else plan.with_requests(shape)

    config, weights = call.command.found.config, call.budget.weights is not None
    name = config.name if config else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        changes = would_fit(Asked(found, call.arguments, again, call.budget.gpus, name, weights))
    return found._replace(would_fit=changes)


def _swept(call: ModelCall, sweeps: Sequence[str], show: Show) -> int:
    from kvinspect.api import plan_model as models
    from kvinspect.cli.progress import step_bar
    from kvinspect.planning.sweep_axes import axis

    if call.command.document is not None:
        raise bad_call("a sweep varies engine arguments, so it needs a model's config.json", "--sweep")
    with step_bar("plans", not show.quiet) as progress, call.places():
        answer = models.sweep(
            call.model,
            [axis(text) for text in sweeps],
            call.memory,
            engine_args=call.arguments,
            progress=progress,
            **call.setting,
        )
    print_sweep(answer, show)
    return show.code(answer.clean, answer.not_modelled)


def _logged(name: str, words: Sequence[str], given: ModelOptions, sweep: Sequence[str] | None, show: Show) -> int:
    """A log by itself, or beside the plan of the model that the words name, under the log's own release."""
    from kvinspect.api import plan_log as logs
    from kvinspect.api import plan_model as models
    from kvinspect.report import start_up_log as report

    _only_of_a_log(show, sweep, given, words)
    log = logs.read_log(name)
    answer = logs.LogAnswer(log)
    if words:
        call = _call(words, given._replace(engine=given.engine or logs.release_in(log)))
        if call.command.document is not None:
            raise bad_call("a log is held against the plan of a model's config.json", "--log")

        def plan(memory: Memory) -> ModelPlan:
            return models.plan_model(call.model, memory, engine_args=call.arguments, **call.setting)

        said = any(call.budget) or "kv_cache_memory_bytes" in call.arguments
        answer = logs.against_plan(log, plan, call.memory(call.arguments) if said else None)
    if show.output or not show.quiet:
        planned, memory = (answer.plan.plan, answer.plan.memory.how) if answer.plan else (None, "")
        shown = Report([answer], lambda _: report.compared_page(answer.log, planned, memory, answer.rows))
        shown.emit(Format(show.kind.value), show.output, show.color)
    return show.code(answer.clean, answer.plan.plan.not_modelled if answer.plan else ())


def _only_of_a_log(show: Show, sweep: Sequence[str] | None, given: ModelOptions, words: Sequence[str]) -> None:
    """Raises BadParameter for what a log has no use for, rather than leave it out unsaid."""
    if sweep:
        raise bad_call("--sweep cannot go with --log: a log is of one start", "--sweep")
    if show.kind.value not in Format.__members__:
        formats = ", ".join(Format)
        raise bad_call(
            f"--format {show.kind.value}, or the --output FILE that asks for it, cannot go with --log, which is shown "
            f"as {formats}; a .yaml file takes -f yaml",
            "--format",
        )
    if not words and any((given.engine, *given.of_a_model)):
        text = "--engine, --platform, --device-capability and sizes are of a plan: name the model to hold --log against"
        raise bad_call(text, "--log")
