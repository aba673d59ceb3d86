"""`kvinspect map`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from kvinspect.cli import options
from kvinspect.cli.exits import FINDINGS, bad_call, code_of, say
from kvinspect.cli.model_words import ModelOptions
from kvinspect.cli.output import Color, by_ending, look_of, write, write_drawing
from kvinspect.cli.serve_words import unmarked
from kvinspect.document.numbers import counted
from kvinspect.output.safe import Syntax, safe

if TYPE_CHECKING:
    from kvinspect.engine.align_answer import AlignAnswer, TensorAnswer
    from kvinspect.question.model import ModelQuestion

EXAMPLES = """\b
Examples:
  kvinspect map configs/whisper-large-v3-rocm.yaml
  kvinspect map configs/qwen3-next-80b-a3b.yaml --allocation 3 --layer '*.self_attn.*'
  kvinspect map examples/models/qwen3-8b --gpu H100 --weights 16.4GB
  kvinspect map configs/whisper-large-v3-rocm.yaml -o map.svg
"""


class Picture(str, Enum):
    """What kind of picture is drawn."""

    text = "text"
    svg = "svg"
    html = "html"


ENDINGS = {".svg": Picture.svg, ".html": Picture.html, ".htm": Picture.html, ".txt": Picture.text}


def draw(
    words: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE | MODEL [VLLM FLAGS...]", help="A document, - for stdin, or a model, as for plan."
        ),
    ],
    allocation: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Which allocation; absent: the worst one.")
    ] = None,
    layer: Annotated[str | None, typer.Option(metavar="GLOB", help="Only layers that match.")] = None,
    blocks: Annotated[int, typer.Option(metavar="N", min=1, max=64, help="Blocks to show, from the first.")] = 3,
    engine: options.Engine = None,
    platform: options.Platform = None,
    capability: options.Capability = None,
    available: options.Available = None,
    gpu: options.Gpu = None,
    gpu_memory: options.GpuMemory = None,
    weights: options.Weights = None,
    how: Annotated[
        Picture | None, typer.Option("--format", "-f", help="Absent: by the ending of --output, else text.")
    ] = None,
    output: options.Output = None,
    strict: options.Strict = False,
    color: options.Coloured = Color.auto,
    debug: options.Debug = False,
) -> None:
    """Draw an allocation: a bar for each layer's view, a cell for each block, collisions marked.

    The bytes of a few blocks are shown, before and after the alignment where it changes something.
    """
    given = ModelOptions(engine, platform, capability, available, gpu, gpu_memory, weights)
    answer = _answer(unmarked(words), given)
    if answer.refusal is not None and not answer.layers:
        say(f"kvinspect: there is nothing to draw: the engine refuses: {safe(answer.refusal.text)}")
        raise typer.Exit(FINDINGS)
    if not answer.tensors:
        raise bad_call("there is nothing to draw: the document has no allocation")
    tensor = _chosen(answer, allocation)
    kind = how or by_ending(output, ENDINGS, Picture.text)
    text = _drawn(answer, tensor, layer, blocks, kind, output, color)
    if kind is Picture.text:
        write(text, output, Syntax.TEXT)
    else:
        write_drawing(text, output)
    raise typer.Exit(code_of(tensor.sound is True, answer.setting.not_modelled, strict))


def _answer(words: list[str], given: ModelOptions) -> AlignAnswer:
    """The answer about the one document, or the one model, that the words name."""
    from kvinspect.api import align as api
    from kvinspect.document.problem import DocumentError
    from kvinspect.question.documents import load, names_model

    if names_model(words):
        return given.about(words, _of_model)
    if len(words) > 1:
        raise bad_call(f"a picture is of one document, not {len(words)}")
    try:
        document = load(words[0])
    except DocumentError as error:
        if error.errors[0].kind != "other" or words == ["-"]:
            raise
        return given.about(words, _of_model)
    given.none_of_documents()
    document.require("kv_cache_config", "map")
    return api.align(document, engine=given.engine)


def _of_model(asked: ModelQuestion) -> AlignAnswer:
    """The answer about the first worker, which is said where others have another cache."""
    from kvinspect.api.align import refused_as

    first, *others = asked.caches
    if others:
        say(f"kvinspect: this is worker 0 of {len(others) + 1}; `kvinspect plan … -o FILE.yaml` writes each")
    return refused_as(asked, first.align)


def _chosen(answer: AlignAnswer, allocation: int | None) -> TensorAnswer:
    """The tensor that was asked for, else the one whose decision is the worst, unsound ones first."""
    from kvinspect.engine.align_answer import WORST_LAST

    if allocation is None:
        return max(answer.tensors, key=lambda t: (t.sound is False, WORST_LAST.index(t.decision), -t.id))
    if allocation >= len(answer.tensors):
        raise bad_call(f"there are {counted(len(answer.tensors), 'tensor')}, from 0 on", "--allocation")
    return answer.tensors[allocation]


def _drawn(
    answer: AlignAnswer,
    tensor: TensorAnswer,
    layer: str | None,
    blocks: int,
    how: Picture,
    output: str | None,
    color: Color,
) -> str:
    from kvinspect.report.map.scene import matching, scene
    from kvinspect.report.not_counted import note

    names = matching(answer, tensor, layer)
    if not names and layer is None:
        raise bad_call(f"there is nothing to draw: no layer on tensor {tensor.id} has a block dim", "--allocation")
    if not names:
        raise bad_call(f"no layer on tensor {tensor.id} matches {layer!r}", "--layer")
    if how is Picture.text:
        return _text(answer, tensor, names, blocks, output, color)
    drawing = scene(answer, tensor, names, blocks)
    if how is Picture.svg:
        from kvinspect.report.map.svg import svg

        return svg(drawing, answer.setting.source, note(answer.setting.not_modelled))
    from kvinspect.report.map.html import html
    from kvinspect.report.map.page import reason, verdict

    return html(drawing, answer.setting.source, verdict(answer, tensor), reason(tensor))


def _text(
    answer: AlignAnswer, tensor: TensorAnswer, names: list[str], blocks: int, output: str | None, color: Color
) -> str:
    from kvinspect.report import terminal
    from kvinspect.report.map.page import page

    look = look_of(output, color)
    return terminal.render(page(answer, tensor, names, blocks, look.width), **look._asdict())
