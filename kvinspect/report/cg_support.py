"""The answer of `cg-support` as a page: the groups as a ladder, then the mode's way down, then how to get it back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from kvinspect.cudagraph.cg_support_answer import CGSupportAnswer, ModeMatrix, Open
from kvinspect.cudagraph.decide import Decision, GroupLevel
from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.resolve import Resolution
from kvinspect.cudagraph.support import AttentionCGSupport
from kvinspect.cudagraph.table import BackendRow, BackendTable
from kvinspect.cudagraph.wording import fact_words, value_words
from kvinspect.document.fold import fold_names
from kvinspect.document.numbers import counted
from kvinspect.report.fold import fold_indices, title_of
from kvinspect.report.layer_names import folded
from kvinspect.report.not_counted import qualified
from kvinspect.report.page_parts import (
    Block,
    Cell,
    Column,
    Heading,
    Item,
    Page,
    Paragraph,
    Span,
    Spans,
    Style,
    Table,
    cell,
    columns,
    spans,
)

GROUPS = columns(
    "group", "backend", Column("layers", "names"), "CUDA graph support", Column("depends on", "prose", leaves=1)
)
LEVEL_STYLE: dict[AttentionCGSupport, Style] = {
    AttentionCGSupport.NEVER: "bad",
    AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE: "changed",
    AttentionCGSupport.UNIFORM_BATCH: "changed",
    AttentionCGSupport.ALWAYS: "good",
}


class View(NamedTuple):
    """Which parts of an answer to show: every layer by its name, what each decision depends on."""

    all_layers: bool = False
    explain: bool = False


PLAIN = View()


def page(answer: CGSupportAnswer, view: View = PLAIN) -> Page:
    """The page of one answer: the resulting mode, the groups, why, and what gives the requested mode."""
    blocks: list[Block] = [
        Heading(qualified(verdict(answer), answer.setting.not_modelled, bounded=True)),
        Paragraph(_subject(answer)),
    ]
    if answer.decision is None:
        refusal = answer.resolution.error
        assert refusal
        blocks.append(Paragraph(spans(f"Why: at start-up ({refusal.stage}): {refusal.type}: {refusal.text}.")))
        return Page(tuple(blocks))
    blocks.append(_groups(answer.decision, view))
    blocks += [*_why(answer.running), *open_facts(answer.open), *_advice(answer, view.explain), *_workers(answer)]
    blocks += _captured(answer) if view.explain else [_more()]
    return Page(tuple(blocks))


def _more() -> Block:
    return Paragraph(
        spans(Span("Add --explain for what each support depends on and which graphs are captured.", "dim"))
    )


def _workers(answer: CGSupportAnswer) -> Iterable[Block]:
    """What other workers decide, each with its reason."""
    for one in answer.workers:
        names = ", ".join(fold_names(one.layer_names))
        yield Item(
            "!", spans(f"Another worker, with {names or 'other layers'}, has another result: ", *verdict(one), ".")
        )
        yield from _why(one.running)


def verdict(answer: CGSupportAnswer) -> Spans:
    """The resulting mode, and the requested one where that is another."""
    mode, requested = answer.running.mode, f" (requested: {answer.requested_mode.name})"
    if mode is None:
        return spans(Span("✗ Refused", "bad"), requested)
    if mode is answer.requested_mode:
        return spans(Span(f"✓ {mode.name}", "good"), ", as requested")
    return spans(Span(f"↓ {mode.name}", "changed"), requested)


def _subject(answer: CGSupportAnswer) -> Spans:
    setting = answer.setting
    device = " ".join(filter(None, (setting.platform, setting.device_capability)))
    runner = f"model runner {setting.model_runner}" if setting.model_runner != "v2" else ""
    facts = filter(None, (f"vLLM {setting.engine}", runner, device))
    return spans(Span(title_of(setting.source), "strong"), " · " + " · ".join(facts))


def _groups(decision: Decision, view: View) -> Table:
    """The groups in the engine's order, alike ones in one row; the last that narrows the support limits the mode."""
    limiting = next((group for group in reversed(decision.groups) if group.narrowed), None)
    alike: dict[object, list[GroupLevel]] = {}
    for i, group in enumerate(decision.groups):
        facts = (group.kv_cache_group_id is None, group.backend, group.level, group.counts, group is limiting)
        alike.setdefault(i if view.all_layers else repr(facts), []).append(group)
    rows = tuple(_row(groups, groups[0] is limiting, view.all_layers) for groups in alike.values())
    return Table(GROUPS, rows) if view.explain else Table(GROUPS[:-1], tuple(row[:-1] for row in rows))


def _row(alike: Sequence[GroupLevel], limits: bool, all_layers: bool) -> tuple[Cell, ...]:
    group = alike[0]
    numbers = sorted({one.kv_cache_group_id for one in alike if one.kv_cache_group_id is not None})
    names = folded([name for one in alike for name in one.layer_names], len(numbers), all_layers)
    why = group.level.why + ("" if group.counts else "; this release does not count encoder layers")
    return (
        cell(fold_indices(numbers) or "encoder"),
        cell(group.backend),
        names or cell(""),
        cell(spans(_level(group.level.support), *([" ← limits"] if limits else []))),
        cell(why),
    )


def _level(support: AttentionCGSupport) -> Span:
    return Span(support.name, LEVEL_STYLE[support])


def _why(resolution: Resolution) -> Iterable[Block]:
    """Each step down with its reason, and the engine's refusal where it ends in one."""
    for step in resolution.steps:
        yield Paragraph(spans("Why ", Span(step.target.name, "changed"), f": {step.why}."))
    if resolution.error:
        yield Paragraph(spans("Why: ", f"{resolution.error.type}: {resolution.error.text}."))


def _captured(answer: CGSupportAnswer) -> Iterable[Block]:
    graphs, decision = answer.captured, answer.decision
    if graphs is None or decision is None:
        return
    query, seqs = decision.request.query_len, decision.request.max_num_seqs
    said = []
    if graphs.decode:
        each = f" of {counted(query, 'token')} each" if query > 1 else ""
        most = graphs.decode[-1] // query
        said.append(f"{counted(len(graphs.decode), 'graph')} of decodes, up to {counted(most, 'sequence')}{each}")
        said[-1] += f"; larger batches (up to {counted(seqs, 'sequence', ',')}) run eagerly" if most < seqs else ""
    if graphs.mixed:
        said.append(f"{counted(len(graphs.mixed), 'graph')} of any batch, up to {counted(graphs.mixed[-1], 'token')}")
    if said:
        yield Paragraph(spans("Captured: " + "; ".join(said) + "."))


def open_facts(facts: Sequence[Open]) -> Iterable[Block]:
    """Unknown facts on which the mode depends: what is assumed of each, and the mode of each case."""
    for fact in facts:
        if fact.matters:
            other = [case for case in fact.cases if case.value != fact.assumed]
            cases = "; ".join(f"{fact_words(fact.fact, case.value)}: {_mode(case.resolution)}" for case in other)
            assumed = Span(fact_words(fact.fact, fact.assumed), "strong")
            yield Paragraph(spans("Unknown offline, and assumed: ", assumed, f". Otherwise: {cases}."))


def _mode(resolution: Resolution) -> str:
    return resolution.mode.name if resolution.mode else "refused"


def _advice(answer: CGSupportAnswer, explain: bool) -> Iterable[Block]:
    """What to change, each change tried; silent where the request comes out."""
    if answer.as_requested:
        return
    wanted = Span(answer.requested_mode.name, "strong")
    if any(advice.mode is answer.requested_mode for advice in answer.advice):
        yield Paragraph(
            spans(
                "To get ",
                wanted,
                ", one of these (re-evaluated):" if len(answer.advice) > 1 else " (re-evaluated):",
            )
        )
    else:
        better = " Better than now (re-evaluated):" if answer.advice else ""
        yield Paragraph(spans("No single change gives ", wanted, "." + better))
    for advice in answer.advice:
        gives = "" if advice.mode is answer.requested_mode else f": {advice.mode.name}"
        checked = f" ({advice.change.checked})" if explain else ""
        yield Item("•", spans(Span(advice.change.text, "strong"), gives, Span(checked, "dim")))


def table_page(table: BackendTable) -> Page:
    """The release's backends with the conditions of their support; those that only other platforms try are counted."""
    title = spans(
        Span(f"vLLM {table.engine}", "strong"), f" on {table.platform}: CUDA graph support of attention backends"
    )
    here = [row for row in table.backends if not row.platforms or table.platform in row.platforms]
    shown = here or list(table.backends)
    rows = tuple(cells for row in shown for cells in _backend(row))
    blocks: list[Block] = [Heading(title), Table(columns("backend", "support", Column("where", "prose")), rows)]
    others = {name for row in table.backends for name in row.platforms} - {table.platform}
    if len(shown) < len(table.backends):
        count = counted(len(table.backends) - len(shown), "backend")
        words = f"{count} of other platforms: --platform {', '.join(sorted(others))}"
        blocks.append(Paragraph(spans(Span(words, "dim"))))
    return Page(tuple(blocks))


def _backend(row: BackendRow) -> Iterable[tuple[tuple[Spans, ...], ...]]:
    """A backend's cases, its name beside the first; cases that follow each other with the same support are one row."""
    name = row.backend
    for support, alike in groupby(row.cases, key=lambda case: case.support):
        conditions = ["; ".join(fact_words(key, value) for key, value in case.needs.items()) for case in alike]
        where = [f"or {one}" if i else one for i, one in enumerate(conditions) if one]
        otherwise = "otherwise" if len(row.cases) > 1 else ""
        yield cell(name), cell(_level(support)), cell(*(where if all(conditions) else [otherwise]))
        name = ""


def matrix_page(matrix: ModeMatrix) -> Page:
    """Requested mode × least support."""
    rows = []
    for mode in CUDAGraphMode:
        cells = [c for c in matrix.cells if c.requested is mode]
        rows.append((cell(Span(mode.name, "strong")), *(cell(_resolved(c.resolution, mode)) for c in cells)))
    under = ", ".join(f"{key} {value_words(value)}" for key, value in matrix.under.items())
    title = spans(
        Span(f"vLLM {matrix.release}", "strong"),
        ": resulting CUDA graph mode by requested mode and lowest backend support",
    )
    heads = columns("requested", *(support.name for support in AttentionCGSupport))
    return Page((Heading(title), Table(heads, tuple(rows)), Paragraph(spans(f"Under: {under}."))))


def _resolved(resolution: Resolution, requested: CUDAGraphMode) -> Span:
    if resolution.mode is None:
        return Span("refused", "bad")
    return Span(resolution.mode.name, "good" if resolution.mode is requested else "changed")
