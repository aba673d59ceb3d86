"""`kvinspect diff`."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from kvinspect.cli import options
from kvinspect.cli.exits import INPUT, as_bad_call, bad_call, code_of, say
from kvinspect.cli.model_words import ModelOptions
from kvinspect.cli.output import Color, Report
from kvinspect.cli.serve_words import sides, unmarked

if TYPE_CHECKING:
    from kvinspect.api.diff import Side
    from kvinspect.compare.diff_answer import DiffAnswer
    from kvinspect.document.document import Document
    from kvinspect.question.model import ModelQuestion

EXAMPLES = """\b
Examples:
  kvinspect diff configs/llama-3.1-8b.yaml --engine 0.25 --engine 0.26
  kvinspect diff examples/prefill-tp2.yaml examples/decode-tp4.yaml --format json
What changes when a flag is set:
  kvinspect diff Qwen/Qwen3-8B -- Qwen/Qwen3-8B --kv-cache-dtype fp8
  kvinspect diff Qwen/Qwen3-8B -tp 2 -- Qwen/Qwen3-8B -tp 4 --gpu H100
Whether a KV connector takes a prefill and a decode instance:
  kvinspect diff Qwen/Qwen3-8B -tp 2 -- Qwen/Qwen3-8B -tp 4 --connector nixl
"""

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="A [B] | A [VLLM FLAGS...] -- B [VLLM FLAGS...]",
        help="Documents, - for stdin; or models, as for plan. Options of kvinspect apply to both sides.",
    ),
]
Engines = Annotated[
    list[str] | None,
    typer.Option(
        "--engine",
        metavar="RELEASE",
        help="vLLM release, e.g. 0.27; twice: one for A, one for B. Wins over the document's.",
    ),
]


Connector = Annotated[
    str | None,
    typer.Option(
        "--connector",
        metavar="NAME",
        help="KV connector that moves blocks from A (prefill) to B (decode): nixl, mooncake, lmcache or a vLLM name. "
        "Flags without --kv-transfer-config get one.",
    ),
]


def diff(
    words: Words,
    engines: Engines = None,
    platform: options.Platform = None,
    capability: options.Capability = None,
    available: options.Available = None,
    gpu: options.Gpu = None,
    gpu_memory: options.GpuMemory = None,
    weights: options.Weights = None,
    connector: Connector = None,
    how: options.AnyFormat = None,
    output: options.Output = None,
    all_layers: options.AllLayers = False,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
    color: options.Coloured = Color.auto,
    wide: options.Wide = False,
    debug: options.Debug = False,
) -> None:
    """Compare two KV caches, and show whether an engine with one can read blocks written by an engine with the other.

    Ends with 1 if it cannot, 2 if that cannot be judged.
    """
    from kvinspect.document.problem import DocumentError
    from kvinspect.report.diff import page

    given = ModelOptions(None, platform, capability, available, gpu, gpu_memory, weights, needs_memory=False)
    try:
        answer = _answer(sides(unmarked(words)), engines or [], given, connector)
    except DocumentError:
        raise
    except ValueError as error:
        raise as_bad_call(error) from None
    if output or not quiet:
        Report([answer], lambda found: page(found, all_layers)).emit(how, output, color)
    clean = answer.compatible is not False
    raise typer.Exit(INPUT if answer.compatible is None else code_of(clean, answer.not_modelled, strict))


def _answer(words: list[list[str]], engines: list[str], given: ModelOptions, connector: str | None) -> DiffAnswer:
    """The answer about what the words of one or both sides name."""
    from kvinspect.api.diff import DECODE, PREFILL, compared, engines_of
    from kvinspect.question.documents import names_model

    alone = len(words) == 1
    if words == [["-"], ["-"]]:
        raise bad_call("standard input holds one document, not two")
    if alone and not engines and names_model(words[0]):
        raise bad_call("a model is compared with itself: give another behind --, with its flags, or a release")
    releases = engines_of(engines, alone)
    of_sides = words * 2 if alone else words
    first = _document(words[0])
    documents = (first, first if alone else _document(words[1]))
    if None not in documents:
        given.none_of_documents()
    found: list[Side] = []
    rows = zip("AB", of_sides, documents, releases, (PREFILL, DECODE), strict=True)
    for name, said, document, engine, role in rows:
        with _named("" if alone else name):
            found.append(_side([*said, *_transfer(said, connector, role)], document, given._replace(engine=engine)))
    a, b = (shlex.join(said) if document is None else "" for said, document in zip(of_sides, documents, strict=True))
    return compared(found[0], found[1], connector)._replace(words=(a, b))


def _transfer(words: list[str], connector: str | None, role: str) -> list[str]:
    """The flag of a connector for words that have none."""
    from kvinspect.api.diff import with_connector

    if any(word.replace("_", "-").startswith("--kv-transfer-config") for word in words):
        return []
    made = with_connector({}, connector, role)
    return ["--kv-transfer-config", json.dumps(dict(made["kv_transfer_config"]))] if made else []


def _document(words: list[str]) -> Document | None:
    """The document that a side names, None where that is a model."""
    from kvinspect.document.problem import DocumentError
    from kvinspect.question.documents import load, names_model

    if names_model(words):
        return None
    if len(words) > 1:
        raise bad_call(f"one document or model on each side of --, not {len(words)}")
    try:
        return load(words[0])
    except DocumentError as error:
        if error.errors[0].kind != "other" or words == ["-"]:
            raise
        return None


def _side(words: list[str], document: Document | None, given: ModelOptions) -> Side:
    """What is asked about one side."""
    from kvinspect.api.diff import of_document, planned

    def first_worker(asked: ModelQuestion) -> ModelQuestion:
        """What is asked, with a line that says so where there are other workers."""
        workers = len(planned(asked).caches)
        if workers > 1:
            say(f"kvinspect: of {shlex.join(words)} this is worker 0 of {workers}")
        return asked

    return given.about(words, first_worker) if document is None else of_document(document, given.engine)


@contextmanager
def _named(side: str) -> Iterator[None]:
    """What is wrong with the words of a side, with the name of the side; a file says by itself which it is."""
    from kvinspect.document.problem import DocumentError
    from kvinspect.models.given import SOURCE

    try:
        yield
    except DocumentError as error:
        said = f"{SOURCE} of {side}" if side else SOURCE
        raise DocumentError(
            one._replace(source=said) if one.source == SOURCE else one for one in error.errors
        ) from None
    except typer.BadParameter as error:
        raise typer.BadParameter(f"{side}: {error.message}" if side else error.message) from None
