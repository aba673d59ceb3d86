"""The answer of `plan` as a page: the verdict, the memory, the groups, and what to do; the rest on demand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kvinspect.document.numbers import counted
from kvinspect.planning.plan_answer import ModelOrigin, PlanAnswer
from kvinspect.planning.request_load import RequestAnswer
from kvinspect.report.fold import human_bytes, title_of
from kvinspect.report.not_counted import qualified
from kvinspect.report.page_parts import Block, Heading, Item, Page, Paragraph, Span, Spans, Style, spans
from kvinspect.report.plan_details import details
from kvinspect.report.plan_groups import groups_table
from kvinspect.report.plan_memory import gib, memory_table


class View(NamedTuple):
    """Which parts of a plan to show: every layer by its name, the reason of each step."""

    all_layers: bool = False
    explain: bool = False


PLAIN = View()


def page(
    answer: PlanAnswer,
    view: View = PLAIN,
    origin: ModelOrigin | None = None,
    load: RequestAnswer | None = None,
    ending: Sequence[Block] = (),
    at_most: PlanAnswer | None = None,
) -> Page:
    """The page of one answer; `origin` is its model, `load` what requests that are asked about take of the cache.

    `ending` is what stands last, such as changes that would fit; `at_most` is the plan with the most memory that an
    estimate allows, which has groups where only that one starts.
    """
    estimated = origin.sum if origin else None
    grouped = answer if answer.groups or at_most is None else at_most
    blocks: list[Block] = [
        *(_load(load) if load else ()),
        Heading(outcome(answer, origin.verdict if origin else "")),
        Paragraph(_title(answer, origin)),
        *(_memory(origin) if origin and not estimated else ()),
    ]
    if answer.refusal is not None and (not estimated or estimated.left > 0):
        blocks += refused(answer, f", with the estimated {gib(estimated.left)} GiB" if estimated else "")
    blocks += [memory_table(estimated)] if estimated else []
    blocks += [groups_table(grouped, view.all_layers)] if grouped.groups else []
    blocks += [*(_lines(answer) if answer.refusal is None else ()), *ending]
    blocks += details(answer, origin) if view.explain else [_more()]
    return Page(tuple(blocks))


def _more() -> Block:
    return Paragraph(spans(Span("Add --explain for why: groups, blocks, backends, memory.", "dim")))


def _load(load: RequestAnswer) -> Iterable[Block]:
    """Whether the requests fit, as the first line."""
    sign, style = FIT[load.verdict]
    yield Paragraph(spans(Span(f"{sign} {load.sentence}.", style)))


def _memory(origin: ModelOrigin) -> Iterable[Block]:
    """Where a memory is from that is neither given nor a sum."""
    if origin.memory != "given":
        yield Item("!", spans(Span("memory", "changed"), f" {origin.memory}."))


def _title(answer: PlanAnswer, origin: ModelOrigin | None) -> Spans:
    """What was planned, in a line."""
    setting = answer.setting
    memory = [human_bytes(size) for size in (answer.inputs.memory if answer.inputs else ())]
    shown = memory[0] if len(set(memory)) == 1 else " and ".join(memory)
    given = f"{shown} for the KV cache" if shown and not (origin and origin.sum) else ""
    named = bool(origin and origin.sum and origin.sum.gpu_name)
    device = "" if named else " ".join(filter(None, (setting.platform, setting.device_capability)))
    facts = [*(origin.facts if origin else ()), f"vLLM {setting.engine}", device, given]
    return spans(Span(title_of(setting.source), "strong"), " · " + " · ".join(filter(None, facts)))


def outcome(answer: PlanAnswer, verdict: str = "") -> Spans:
    """The verdict on the whole cache, with what is left out of it; `verdict` is that of an estimate."""
    return qualified(_outcome(answer, verdict), answer.not_modelled, bounded=True)


def _outcome(answer: PlanAnswer, verdict: str) -> Spans:
    if verdict:
        return _fit(verdict)
    if answer.refusal is not None:
        return spans(Span("✗ Refused at start-up", "bad"), f" ({answer.refusal.stage}): {answer.refusal.type}")
    blocks = counted(answer.num_blocks or 0, "block", ",")
    if answer.longest_request is not None:
        return spans(Span(f"✗ {blocks}, too few for the longest request", "bad"))
    return spans(Span(f"✓ {_holds(answer, blocks)}", "good"))


def _holds(answer: PlanAnswer, blocks: str) -> str:
    """What the cache holds."""
    if answer.capacity is None:
        return f"Starts: {blocks}"
    requests, longest = answer.capacity.max_concurrency, answer.deployment.max_model_len
    many = "request" if requests == 1 else "requests"
    held = counted(answer.capacity.num_tokens, "token", ",")
    return f"Fits: {requests:,.2f} concurrent {many} of {counted(longest, 'token', ',')} ({held}, {blocks})"


FIT: dict[str, tuple[str, Style]] = {"fits": ("✓", "good"), "tight": ("≈", "changed"), "does not fit": ("✗", "bad")}
"""Verdict of an estimate → its sign and its style."""


def _fit(verdict: str) -> Spans:
    sign, style = FIT[verdict.partition(":")[0]]
    return spans(Span(f"{sign} {verdict[:1].upper()}{verdict[1:]}", style))


def refused(answer: PlanAnswer, estimated: str = "") -> Iterable[Block]:
    """Where and why the engine refuses, or would with an `estimated` memory."""
    refusal = answer.refusal
    assert refusal is not None
    yield Paragraph(spans(f"Why{estimated}: {refusal.text}."))
    if refusal.where:
        yield Item("→", spans(refusal.where))


def _lines(answer: PlanAnswer) -> Iterable[Block]:
    """What a request costs, and what is odd about the groups or the workers."""
    found = answer.capacity
    if found is None:
        yield Paragraph(spans("No layer has a KV cache, so its memory limits no request."))
        return
    longest = counted(answer.deployment.max_model_len, "token", ",")
    if answer.longest_request is not None:
        text = (
            f": the engine starts, but a request of {longest} waits forever, because one block of the pool is the null "
            f"block; requests of at most {counted(answer.longest_request, 'token', ',')} run."
        )
        yield Paragraph(spans(Span("never runs", "bad"), text))
    if answer.deployment.auto_fit:
        yield Paragraph(spans(f"max_model_len auto: the longest request that fits has {longest}, and that is used."))
    if len(answer.groups) > 1:
        size = human_bytes(found.cost.blocks * answer.workers[0].bytes_per_block)
        need = f"needs {counted(found.cost.blocks, 'block', ',')} ({size})"
        yield Paragraph(spans(f"In all, a request of {longest} {need} on each GPU."))
    yield from _smallest_worker(answer)
    for padding, layers in answer.grouping.padding if answer.grouping else ():
        slots = counted(padding, "padding slot")
        text = f"{slots} added to {counted(layers, 'layer')} {'wastes' if padding == 1 else 'waste'} up to "
        yield Item("!", spans(f"{text}{padding / layers:.2%} of the KV cache."))


def _smallest_worker(answer: PlanAnswer) -> Iterable[Block]:
    """That the worker with the least memory limits the others."""
    most = max((worker.num_blocks_alone for worker in answer.workers), default=0)
    blocks = answer.num_blocks or 0
    if len(answer.workers) > 1 and most > blocks:
        text = f"The smallest worker limits all to {counted(blocks, 'block', ',')}; another has memory for {most:,}."
        yield Paragraph(spans(text))
