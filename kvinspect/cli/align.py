"""`kvinspect align`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kvinspect.cli import options
from kvinspect.cli.exits import CLEAN, bad_call, code_of
from kvinspect.cli.files import answers_of, several
from kvinspect.cli.model_words import ModelOptions
from kvinspect.cli.output import Color, Report
from kvinspect.cli.serve_words import unmarked

if TYPE_CHECKING:
    from kvinspect.api.align import OnDevice
    from kvinspect.cli.progress import Told
    from kvinspect.document.document import Document
    from kvinspect.engine.align_answer import AlignAnswer
    from kvinspect.question.model import ModelQuestion
    from kvinspect.question.question import Question
    from kvinspect.report.page_parts import Page

EXAMPLES = """\b
Examples:
  kvinspect align configs/whisper-large-v3-rocm.yaml
  kvinspect align configs/whisper-large-v3-rocm.yaml --engine 0.27 --explain
  kvinspect align configs/qwen3-next-80b-a3b.yaml --verify --num-blocks 8
  kvinspect align Qwen/Qwen3-8B -tp 2 --kv-cache-memory-bytes 8GiB
  kvinspect align configs/ --format json --device none
"""


def align(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE... | MODEL [VLLM FLAGS...]",
            help="Documents, folders of documents, - for stdin; or a model, as for plan.",
        ),
    ],
    engine: options.Engine = None,
    device: Annotated[
        str,
        typer.Option(metavar="DEVICE", help="Device of the tensors: auto, cuda, cuda:N, cpu, meta, or none."),
    ] = "auto",
    verify: Annotated[
        bool,
        typer.Option("--verify", help="Check the proof: write block IDs through each view and read them back."),
    ] = False,
    num_blocks: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Number of blocks; overrides the document's.")
    ] = None,
    platform: options.Platform = None,
    capability: options.Capability = None,
    available: options.Available = None,
    gpu: options.Gpu = None,
    gpu_memory: options.GpuMemory = None,
    weights: options.Weights = None,
    how: options.AnyFormat = None,
    output: options.Output = None,
    all_layers: options.AllLayers = False,
    layer: Annotated[str | None, typer.Option(metavar="GLOB", help="Show only layers that match.")] = None,
    explain: options.Explain = False,
    strict: options.Strict = False,
    quiet: options.Quiet = False,
    color: options.Coloured = Color.auto,
    wide: options.Wide = False,
    debug: options.Debug = False,
) -> None:
    """Show how vLLM lays out, shares and aligns the views of a KV cache, and prove whether that is sound.

    Ends with 1 where an allocation is unsound or the engine refuses, 2 where a document cannot be judged, 3 if the
    device is not there.
    """
    given = ModelOptions(
        engine, platform, capability, available, gpu, gpu_memory, weights, needs_memory=num_blocks is None
    )
    answers, codes, many = _answers(unmarked(files), given, _HowAsked.of(device, num_blocks, verify))
    shown = answers if layer is None else [answer.only(layer) for answer in answers]
    if layer is not None and answers and not any(answer.layers for answer in shown):
        raise bad_call(f"no layer matches {layer!r}", "--layer")
    ends = (code_of(answer.clean, answer.setting.not_modelled, strict) for answer in answers)
    code = max([*codes, *ends], default=CLEAN)
    if output or not quiet:
        Report(shown, lambda answer: _page(answer, all_layers, explain), many).emit(how, output, color)
    raise typer.Exit(code)


def _page(answer: AlignAnswer, all_layers: bool, explain: bool) -> Page:
    """The page of an answer, for the formats that have pages."""
    from kvinspect.report.align import View, page

    return page(answer, View(all_layers, explain))


def _answers(words: list[str], given: ModelOptions, how_asked: _HowAsked) -> tuple[list[AlignAnswer], list[int], bool]:
    """The answers about all that the words name, the exit codes of what has none, and whether there may be several."""
    of_document, of_model = given.of_documents(how_asked.of_document), given.of_models(how_asked.of_model)
    found, codes = answers_of(words, "kv_cache_config", of_document, of_model)
    answers = [answer for one in found for answer in one]
    return answers, codes, several(words) or len(answers) > 1


class _HowAsked(NamedTuple):
    """How a call asks about each cache."""

    on: OnDevice

    @classmethod
    def of(cls, device: str, num_blocks: int | None, verify: bool) -> _HowAsked:
        """The same on the device that a word names. Raises BadParameter for a word that names none."""
        from kvinspect.api.align import OnDevice
        from kvinspect.device.choose import UnknownDevice

        try:
            return cls(OnDevice.of(device, num_blocks, verify))
        except UnknownDevice as error:
            raise bad_call(str(error), "--device") from None

    def of_document(self, document: Document, engine: str | None) -> list[AlignAnswer]:
        from kvinspect.question.question import Question

        return [self._answer(Question.needing("kv_cache_config", "align", document, engine))]

    def of_model(self, asked: ModelQuestion) -> list[AlignAnswer]:
        """The answer for each worker with a cache of its own; one that is refused where the engine does not start."""
        from kvinspect.api.align import refused_as

        return [refused_as(asked, self._answer(one)) for one in asked.caches]

    def _answer(self, asked: Question) -> AlignAnswer:
        with self._progress(asked.setting.source) as progress:
            return self.on.answer(asked, progress)

    def _progress(self, name: str) -> AbstractContextManager[Told | None]:
        """A bar for the bytes of an experiment; nothing else takes long."""
        if not self.on.verify:
            return nullcontext()
        from kvinspect.cli.progress import progress_bar

        return progress_bar(name)
