"""`kvinspect explain`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kvinspect.cli import options
from kvinspect.cli.exits import as_bad_call, bad_call
from kvinspect.cli.model_words import ModelOptions
from kvinspect.cli.output import Color, Report
from kvinspect.cli.serve_words import unmarked

if TYPE_CHECKING:
    from kvinspect.api.explain import ExplainAnswer
    from kvinspect.question.model import ModelQuestion
    from kvinspect.question.tried import Tried

EXAMPLES = """\b
Examples:
  kvinspect explain server.log
  kubectl logs vllm-0 | kvinspect explain - --gpu H100
  kvinspect explain server.log examples/models/qwen3-8b --max-model-len 32k
"""

MEASURES = ("--gpu-memory-utilization", "-tp", "-pp", "--max-num-batched-tokens", "--dtype")
"""Flags that change how much memory is left for the cache, so that the log's memory is not that of another start."""


def explain(
    log: Annotated[
        str | None, typer.Argument(metavar="LOG", help="A start-up log of any size; - for stdin.", show_default=False)
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODEL] [VLLM FLAGS...]",
            help="The model, where the log's is not found, and flags in place of the log's.",
        ),
    ] = None,
    engine: options.Engine = None,
    platform: options.Platform = None,
    capability: options.Capability = None,
    available: options.Available = None,
    gpus: options.Gpu = None,
    gpu: options.GpuMemory = None,
    weights: options.Weights = None,
    how: options.AnyFormat = None,
    output: options.Output = None,
    quiet: options.Quiet = False,
    color: options.Coloured = Color.auto,
    wide: options.Wide = False,
    debug: options.Debug = False,
) -> None:
    """Explain why vLLM did not start, from its log, and plan the changes that would let it start.

    The last start of the log counts. Ends with 0 where it succeeded, 1 where its failure is explained, 2 where
    nothing in the log is recognized.
    """
    from kvinspect.api.explain import explain as explained
    from kvinspect.document.problem import DocumentError
    from kvinspect.report import explain as report

    if not log:
        raise bad_call("name a start-up log, or - for standard input", instead="-")
    answer = explained(log)
    if answer.start.failures:
        given = ModelOptions(engine, platform, capability, available, gpus, gpu, weights)
        try:
            answer = _planned(answer, unmarked(words or ()), given)
        except DocumentError as error:
            answer = answer._replace(not_planned=str(error.errors[0]))
        except ValueError as error:
            raise as_bad_call(error) from None
    if output or not quiet:
        planned = report.Planned(*answer[1:])
        Report([answer], lambda one: report.page(one.start, planned)).emit(how, output, color)
    raise typer.Exit(answer.code)


def _planned(answer: ExplainAnswer, words: Sequence[str], given: ModelOptions) -> ExplainAnswer:
    """The answer with its flags planned again, and the changes that its failures suggest."""
    from kvinspect.api.explain import logged_memory
    from kvinspect.api.plan_log import release_in
    from kvinspect.question.tried import Tried, best_first, tried

    start = answer.start
    changes = dict.fromkeys(change for found in start.failures for change in found.changes)
    if given.engine is None:
        given = given._replace(engine=release_in(start.log))
    served, left_out, problem = _served(answer, words, given.engine)
    if problem:
        rows = tuple(Tried(change, "not planned") for change in changes)
        return answer._replace(tried=rows, not_planned=problem)
    says = given.available or given.gpu or given.gpu_memory
    logged = None if says else logged_memory(start)

    def ask(flags: str) -> ModelQuestion:
        changed = flags.split()
        if logged and any(flag in MEASURES for flag in changed):
            raise ValueError("the log's memory is that of its own flags; name the GPU: --gpu H100")
        return _question([*served, *changed], given._replace(measured=logged))

    again = next(tried([""], ask))
    rows = best_first([*tried(changes, ask), *_that_fit(served, given._replace(measured=logged))])
    return answer._replace(command=tuple(served), again=again, tried=rows, left_out=tuple(left_out))


def _that_fit(words: Sequence[str], given: ModelOptions) -> Iterator[Tried]:
    """The changes with which the model fits, where its plan is refused for want of memory."""
    from kvinspect.question.change import Change
    from kvinspect.question.tried import of_would_fit
    from kvinspect.question.would_fit import Asked, would_fit

    try:
        call = given.call(words)
        found = call.again(Change(""))
    except ValueError:
        return
    if found.lacks_memory:
        own_weights = call.budget.weights is not None
        changes = would_fit(Asked(found, call.arguments, call.again, call.budget.gpus, "", own_weights))
        yield from map(of_would_fit, changes)


def _question(words: Sequence[str], given: ModelOptions) -> ModelQuestion:
    from kvinspect.question.model import spoken

    call = given.call(words)
    with call.places(), spoken(call.model):
        return call.question()


def _served(answer: ExplainAnswer, words: Sequence[str], engine: str | None) -> tuple[list[str], list[str], str]:
    """The words of the log's start with those of the call behind them, what is left out, and why there are none.

    A log says whatever somebody wrote into it: no file that it names is read, and nothing is fetched for it.
    """
    from kvinspect.data.flags import read
    from kvinspect.failed_starts.words import words_of
    from kvinspect.models.hub import NotFound, here
    from kvinspect.releases import lookup

    arguments = answer.start.arguments
    given = list(words)
    model = given.pop(0) if given and not given[0].startswith("-") else None
    if model is None:
        name = arguments.model
        if name is None:
            return [], [], "the log does not name its model; name it behind the log."
        try:
            known = name[:1] not in "/.~-" and here(name) is not None
        except NotFound:
            known = False
        if not known:
            return [], [], f"the log's model {name} is not found without network; name its config.json behind the log."
        model = name
    said, unknown = words_of(arguments.values, read(lookup.plain(lookup.chosen(engine, None)[1])))
    return [model, *said, *given], [*arguments.unread, *unknown], ""
