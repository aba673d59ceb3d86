"""How `kvinspect plan` shows its answers: in which format, on standard output or in files, and with which exit code."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.cli.exits import bad_call, code_of, say
from kvinspect.cli.output import Color, Format, Report, by_ending, write, write_drawing, write_together
from kvinspect.document.numbers import counted
from kvinspect.output.safe import Syntax, safe_line

if TYPE_CHECKING:
    from kvinspect.document.not_modelled import NotModelled
    from kvinspect.planning.plan_answer import PlanAnswer
    from kvinspect.planning.sweep import SweepAnswer
    from kvinspect.question.model import ModelPlan
    from kvinspect.question.question import Question
    from kvinspect.report.page_parts import Block, Page
    from kvinspect.report.plan import View
    from kvinspect.report.plan_html import Section


class Kind(str, Enum):
    """What is printed."""

    table = "table"
    json = "json"
    yaml = "yaml"
    markdown = "markdown"
    document = "document"
    svg = "svg"
    html = "html"


ENDINGS = {
    ".yaml": Kind.document,
    ".yml": Kind.document,
    ".json": Kind.json,
    ".md": Kind.markdown,
    ".txt": Kind.table,
    ".svg": Kind.svg,
    ".html": Kind.html,
    ".htm": Kind.html,
}


class Show(NamedTuple):
    """How the answer is shown."""

    kind: Kind
    output: str | None
    all_layers: bool
    explain: bool
    quiet: bool
    color: Color
    strict: bool = False

    @classmethod
    def of(cls, how: Kind | None, output: str | None, *rest: Any) -> Show:
        """The same in the format that is named, else in that of the file's ending. Raises BadParameter as that."""
        return cls(how or by_ending(output, ENDINGS, Kind.table), output, *rest)

    def code(self, clean: bool, not_modelled: Sequence[NotModelled]) -> int:
        """The exit code of an answer."""
        return code_of(clean, not_modelled, self.strict)


def print_plan(
    answer: PlanAnswer, model: ModelPlan | None, show: Show, cache: Question | None = None, line: str = ""
) -> None:
    """The answer in the format that was asked for; a refused plan makes no document.

    `cache` is the question about the cache of a plan that starts, `line` the command that starts the server.
    """
    from kvinspect.report import plan as report

    if show.kind is Kind.document:
        _print_document(answer, show)
        return
    if show.kind is Kind.html:
        _print_html(answer, model, cache, line, show)
        return
    if show.kind is Kind.svg:
        raise bad_call("a picture needs something to vary", None, "--sweep max_num_seqs=64,128,256")
    if show.output or not show.quiet:
        view = report.View(show.all_layers, show.explain)
        shown = Report(
            [model or answer], lambda _: _page(answer, model, view, _ending(model, cache, line)), what=_what(answer)
        )
        shown.emit(Format(show.kind.value), show.output, show.color)


def _what(answer: PlanAnswer) -> str:
    """What is said to be in a file."""
    return "refused" if answer.refusal else counted(answer.num_blocks or 0, "block", ",")


def _page(answer: PlanAnswer, model: ModelPlan | None, view: View, ending: Sequence[Block]) -> Page:
    """The page of a plan, with what is known of its model."""
    from kvinspect.report import plan as report

    if model is None:
        return report.page(answer, view)
    return report.page(answer, view, model.origin, model.load, ending, model.ends[1] if model.ends else None)


def _ending(model: ModelPlan | None, cache: Question | None, line: str) -> Sequence[Block]:
    """What to change where a plan does not fit; else the CUDA graph mode, and the line that starts the server."""
    from kvinspect.document.problem import DocumentError
    from kvinspect.report.next_step import graphs_in_short, start_line
    from kvinspect.report.would_fit import would_fit

    if model is None or model.would_fit:
        return would_fit(model.would_fit or (), model.load is not None, sys.argv[1:]) if model else ()
    if cache is None or model.verdict != "fits":
        return ()
    try:
        graphs = graphs_in_short(cache.cg_support)
    except DocumentError:  # a backend that is not known says nothing about graphs, and the plan stands without them
        graphs = ()
    return (*graphs, *start_line(line))


def _print_html(answer: PlanAnswer, model: ModelPlan | None, cache: Question | None, line: str, show: Show) -> None:
    """One page with everything: the plan and its reasons, and of a cache that starts its CUDA graphs and a picture."""
    from kvinspect.report.fold import title_of
    from kvinspect.report.plan import View
    from kvinspect.report.plan_html import plan_html

    plan = _page(answer, model, View(show.all_layers, explain=True), _ending(model, cache, line))
    sections = _sections(cache) if cache is not None and answer.starts and answer.groups else []
    found = model.memory.sum if model else None
    text = plan_html(f"{title_of(answer.setting.source)}: plan", plan, found, sections)
    write_drawing(text, show.output, _what(answer))


def _sections(cache: Question) -> list[Section]:
    """CUDA graphs, and the first allocation as a picture."""
    from kvinspect.report import cg_support
    from kvinspect.report.html import Drawing
    from kvinspect.report.map.scene import matching, scene
    from kvinspect.report.map.svg import svg
    from kvinspect.report.not_counted import note

    graphs = cg_support.page(cache.cg_support, cg_support.View(explain=True))
    aligned = cache.align
    drawn = [tensor for tensor in aligned.tensors[:1] if matching(aligned, tensor, None)]
    left_out = note(aligned.setting.not_modelled)
    pictures = [svg(scene(aligned, tensor), aligned.setting.source, left_out) for tensor in drawn]
    return [("CUDA graphs", graphs), *(("Blocks of an allocation", Drawing(one)) for one in pictures)]


def _print_document(answer: PlanAnswer, show: Show) -> None:
    """A document for each stage of the pipeline: FILE.yaml, FILE.1.yaml and so on."""
    from kvinspect.planning.inspection import inspection_document
    from kvinspect.report import plan as report
    from kvinspect.report.data import as_yaml

    if not answer.starts:
        Report([answer], report.page).emit(Format.table, None, show.color)
        return
    workers = answer.of_workers
    which = [f"worker {i} of {len(workers)}" if len(workers) > 1 else "" for i in range(len(workers))]
    remarks = [f"not counted: {one.what} ({one.name})" for one in answer.not_modelled]
    texts = [
        _remarked([name, *remarks]) + as_yaml(inspection_document(one))
        for name, one in zip(which, workers, strict=True)
    ]
    if not _is_file(show):
        write(texts[0], show.output, Syntax.QUOTED)
        if which[0]:
            say(f"kvinspect: this is {which[0]}; with -o FILE.yaml each has a file of its own")
        return
    files = [_numbered(show.output, i) for i in range(len(workers))]
    blocks = counted(answer.num_blocks or 0, "block", ",")
    what = {file: ", ".join(filter(None, (blocks, name))) for file, name in zip(files, which, strict=True)}
    write_together(dict(zip(files, texts, strict=True)), Syntax.QUOTED, what)


def _remarked(remarks: Iterable[str]) -> str:
    """Remarks as comments of YAML, a line each."""
    return "".join(f"# {safe_line(one)}\n" for one in remarks if one)


def _numbered(output: str | None, i: int) -> str:
    """The name of a worker's file: FILE.yaml, FILE.1.yaml and so on."""
    assert output is not None
    if i == 0:
        return output
    path = pathlib.Path(output)
    return str(path.with_name(f"{path.stem}.{i}{path.suffix}"))


def _is_file(show: Show) -> bool:
    """Whether the answer goes into files that can be numbered: no stream, no device."""
    from kvinspect.output.files import is_stream

    return show.output not in (None, "-") and not is_stream(str(show.output))


def print_sweep(answer: SweepAnswer, show: Show) -> None:
    """The plans of a sweep in the format that was asked for; as a document there is none."""
    from kvinspect.report.sweep.page import page

    if show.kind is Kind.document:
        raise bad_call(
            "a sweep has many caches, and a document holds one; -o a .json, .md, .svg or .html file", "--output"
        )
    what = counted(len(answer.points), "plan", ",")
    if show.kind in (Kind.svg, Kind.html):
        write_drawing(_drawn(answer, show.kind), show.output, what)
    elif show.output or not show.quiet:
        Report([answer], page, what=what).emit(Format(show.kind.value), show.output, show.color)


def _drawn(answer: SweepAnswer, kind: Kind) -> str:
    from kvinspect.report.fold import title_of
    from kvinspect.report.not_counted import note
    from kvinspect.report.sweep.chart import chart
    from kvinspect.report.sweep.svg import svg

    title = f"{title_of(answer.setting.source)}, vLLM {answer.setting.engine}{note(answer.not_modelled)}"
    drawing = svg(chart(answer), title)
    if kind is Kind.svg:
        return drawing
    from kvinspect.report.html import Drawing, html
    from kvinspect.report.sweep.page import page

    verdict, subject, *rest = page(answer).blocks
    return html(title, (verdict, subject, Drawing(drawing), *rest))
