"""The answer of `fit` as a page: what to take, the table, the command to copy."""

from __future__ import annotations

from collections.abc import Iterable

from kvinspect.document.numbers import counted
from kvinspect.planning.request_load import RequestShape
from kvinspect.question.fit import Deployment, FitAnswer
from kvinspect.report.fold import human_bytes, title_of
from kvinspect.report.not_counted import qualified
from kvinspect.report.page_parts import (
    Block,
    Cell,
    Column,
    Heading,
    Item,
    Page,
    Paragraph,
    Picture,
    Span,
    Table,
    cell,
    columns,
    spans,
)
from kvinspect.report.would_fit import SIGNS, requests_in_words

COLUMNS = columns(
    "GPUs",
    "result",
    Column("concurrent requests"),
    Column("cache of each GPU", leaves=2),
    Column("add", "prose", leaves=1),
)
"""`add` is what has to be said beside the flags of the call."""


def page(answer: FitAnswer) -> Page:
    """The page of one answer; its first line says what to take."""
    rows = tuple(_row(one, answer.shape is not None) for one in answer.deployments)
    return Page((*_first(answer), Table(COLUMNS, rows), *_reasons(answer), *_line(answer)))


def _first(answer: FitAnswer) -> Iterable[Block]:
    best = answer.deployments[0]
    what = _what(answer.shape, best)
    text = {
        "fits": f"✓ Fits on {gpus_of(best)}: {what}",
        "tight": f"≈ Tight on {gpus_of(best)}: {what}",
        "does not fit": f"✗ Does not fit on any of these GPUs: {what}",
    }
    verdict = spans(Span(text[best.verdict], SIGNS[best.verdict][1]), " (estimated)")
    yield Heading(qualified(verdict, answer.not_modelled, bounded=True))
    yield Paragraph(spans(Span(title_of(answer.source), "strong"), f" · vLLM {answer.engine}"))
    if answer.model_source:
        yield Item("•", spans(f"{answer.model_source[:1].upper()}{answer.model_source[1:]}."))


def _what(shape: RequestShape | None, best: Deployment) -> str:
    """What is to fit, in words."""
    if shape is not None:
        return shape.words
    return "one request of " + counted(best.max_model_len, "token", ",") if best.max_model_len else "one request"


def gpus_of(one: Deployment) -> str:
    """So many GPUs: `2×H100`."""
    return f"{one.number}×{one.gpu}"


def _row(one: Deployment, of_a_shape: bool) -> tuple[Cell, ...]:
    return (
        cell(Span(gpus_of(one), "strong")),
        cell(Span(*SIGNS[one.verdict])),
        cell(requests_in_words(one.requests, one.max_model_len, of_a_shape) if one.available else "–"),
        cell(_cache(one)),
        # What does not fit needs no flags.
        cell(" ".join(one.flags) if one.verdict != "does not fit" else ""),
    )


def _cache(one: Deployment) -> str:
    """The memory for the cache of each GPU, with its band."""
    if one.available is None:
        return "–"
    low, middle, high = one.available
    ends = (middle,) if low is None or high is None else dict.fromkeys((low, high))
    return " to ".join(map(human_bytes, ends))


def _reasons(answer: FitAnswer) -> Iterable[Block]:
    """Why GPUs do not do, those alike together."""
    found: dict[str, list[str]] = {}
    for one in answer.deployments:
        if one.why:
            found.setdefault(one.why, []).append(gpus_of(one))
    for why, gpus in found.items():
        yield Item("•", spans(f"{', '.join(gpus)}: {why}."))


def _line(answer: FitAnswer) -> Iterable[Block]:
    if answer.commands and answer.deployments[0].verdict != "does not fit":
        yield Paragraph(spans(f"To start it on {gpus_of(answer.deployments[0])}:"))
        yield Picture((spans(answer.commands[0]),))
