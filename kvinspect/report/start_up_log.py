"""A start-up log as a page: each line that tells of the KV cache, and what it means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvinspect.document.numbers import counted
from kvinspect.planning.plan_answer import PlanAnswer
from kvinspect.report.not_counted import names
from kvinspect.report.page_parts import (
    Block,
    Heading,
    Item,
    Page,
    Paragraph,
    Span,
    Spans,
    Table,
    cell,
    columns,
    spans,
)
from kvinspect.report.plan import outcome, refused
from kvinspect.start_up_log.plan_comparison import Compared
from kvinspect.start_up_log.reader import LogLine, StartUpLog


def page(log: StartUpLog) -> Page:
    """The page of a log; lines that several workers print alike stand once."""
    title = [f"vLLM {log.release}"] if log.release else []
    title += [counted(log.num_tokens, "token", ",")] if log.num_tokens is not None else []
    title += [f"{log.max_concurrency}×"] if log.max_concurrency is not None else []
    name = Span(log.source.rsplit("/", 1)[-1], "strong")
    blocks: list[Block] = [Heading(spans(name, " · " + " · ".join(title) if title else ""))]
    if not log.lines:
        return Page((*blocks, Paragraph(spans("No line of this log is about the KV cache."))))
    alike: dict[tuple[str, str], list[LogLine]] = {}
    for line in log.lines:
        alike.setdefault((line.text, line.meaning), []).append(line)
    for (text, meaning), lines in alike.items():
        blocks += [Paragraph(spans(Span(_numbers(lines), "dim"), " ", Span(text, "strong"))), Item("→", spans(meaning))]
    return Page(tuple(blocks))


def _numbers(lines: list[LogLine]) -> str:
    """The first line's number, and how many are like it."""
    more = len(lines) - 1
    return f"line {lines[0].number}{f' and {more} more' if more else ''}:"


def compared_page(log: StartUpLog, plan: PlanAnswer | None, memory: str, rows: Sequence[Compared]) -> Page:
    """The page of a log with its numbers beside those of the plan; `memory` says where the plan's memory is from."""
    if plan is None:
        return page(log)
    table = Table(columns("what", "the log", "the plan", ""), tuple(_row(row) for row in rows))
    return Page((*page(log).blocks, *_planned(log, plan, memory), table))


def _planned(log: StartUpLog, plan: PlanAnswer, memory: str) -> Iterator[Block]:
    """What the plan is of, where that is another release than the log's, and why the engine refuses, if it does."""
    yield Paragraph(spans(Span("the plan", "strong"), f" · vLLM {plan.setting.release} · memory: {memory}"))
    if log.release is None:
        yield Item("!", spans(Span("release", "changed"), " the log does not name its release."))
    elif log.release.partition("+")[0] != plan.setting.release:
        text = f" the log is from vLLM {log.release}, the plan is for {plan.setting.release}."
        yield Item("!", spans(Span("release", "changed"), text))
    if plan.not_modelled:
        yield Item("!", spans(Span("not counted", "changed"), f": {names(plan.not_modelled)}."))
    if plan.refusal is not None:
        yield Paragraph(outcome(plan))
        yield from refused(plan)


def _row(row: Compared) -> tuple[tuple[Spans, ...], ...]:
    plan = _number(row.least) if row.least == row.most else f"{_number(row.least)} to {_number(row.most)}"
    verdict = Span("✓ as planned", "good") if row.agrees else Span("✗ differs", "bad")
    return cell(row.what), cell(_number(row.logged)), cell(plan), cell(verdict)


def _number(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "refused" if value is None else f"{value:,}"
