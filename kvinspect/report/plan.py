"""The answer of `plan` as a page: the groups, then blocks, requests and what the engine would log."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvinspect.document.numbers import counted
from kvinspect.planning.plan_answer import Capacity, ModelOrigin, PlanAnswer, PlannedGroup
from kvinspect.planning.request_load import RequestAnswer
from kvinspect.report.fold import fold_indices, human_bytes, title_of
from kvinspect.report.layer_names import folded
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

COLUMNS = columns(
    "group",
    "kind",
    "backend",
    Column("layers", "names"),
    Column("tokens", leaves=1),
    Column("page bytes", leaves=2),
    Column("unused", leaves=3),
    "a request",
)
"""Tokens of a block, bytes of a layer's page, bytes of a block that the group leaves empty, blocks a request holds."""


def page(
    answer: PlanAnswer,
    all_layers: bool = False,
    origin: ModelOrigin | None = None,
    load: RequestAnswer | None = None,
    changes: Sequence[Block] = (),
) -> Page:
    """The page of one answer; `origin` is its model, `load` what requests that are asked about take of the cache.

    `changes` are those that would fit.
    """
    blocks: list[Block] = [
        *(_load(load) if load else ()),
        Heading(outcome(answer, origin.verdict if origin else "")),
        Paragraph(_title(answer)),
        *(_model(origin) if origin else ()),
    ]
    if answer.refusal is not None:
        blocks += [*refused(answer, bool(origin and origin.verdict)), *changes]
    else:
        blocks += changes
        if answer.groups:
            blocks.append(
                Table(COLUMNS, tuple(_row(alike, answer, all_layers) for alike in _alike(answer, all_layers)))
            )
        blocks += [*_why(answer), *_workers(answer), *_capacity(answer)]
    return Page((*blocks, *(_choices(origin) if origin else ())))


def _load(load: RequestAnswer) -> Iterable[Block]:
    """Whether the requests fit, as the first line."""
    sign, style = FIT[load.verdict]
    yield Paragraph(spans(Span(f"{sign} {load.sentence}.", style)))


def _model(origin: ModelOrigin) -> Iterable[Block]:
    yield Paragraph(spans(" · ".join(origin.facts)))
    if origin.source:
        yield Item("•", spans(f"{origin.source[:1].upper()}{origin.source[1:]}."))
    if origin.memory != "given":
        yield Item("!", spans(Span("memory", "changed"), f" {origin.memory}."))


def _choices(origin: ModelOrigin) -> Iterable[Block]:
    """Why each backend was taken, and why not those before it; how long blocks are, and what was left out."""
    for step in origin.steps:
        yield Item("•", spans(f"{step[:1].upper()}{step[1:]}."))
    for choice in origin.backends:
        yield Item("•", spans(Span(choice.backend, "strong"), f": {choice.why}."))
        for backend, reasons in choice.passed_over:
            yield Item(" ", spans(Span(f"not {backend}: {', '.join(reasons)}.", "dim")))


def _title(answer: PlanAnswer) -> Spans:
    setting = answer.setting
    device = " ".join(filter(None, (setting.platform, setting.device_capability)))
    memory = [human_bytes(size) for size in (answer.inputs.memory if answer.inputs else ())]
    shown = memory[0] if len(set(memory)) == 1 else " and ".join(memory)
    facts = [f"vLLM {setting.engine}", device, f"{shown} for the cache" if shown else ""]
    return spans(Span(title_of(setting.source), "strong"), " · " + " · ".join(filter(None, facts)))


def outcome(answer: PlanAnswer, verdict: str = "") -> Spans:
    """The verdict on the whole cache; `verdict` is that of an estimate."""
    if verdict and not answer.not_modelled:
        return _fit(verdict)
    if answer.refusal is not None:
        return spans(Span("✗ Refused at start-up", "bad"), f" ({answer.refusal.stage}): {answer.refusal.type}")
    blocks = counted(answer.num_blocks or 0, "block", ",")
    if answer.longest_request is not None:
        return spans(Span(f"✗ {blocks}, too few for the longest request", "bad"))
    if not answer.not_modelled:
        return spans(Span(f"✓ {_holds(answer, blocks)}", "good"))
    sign = "≤" if all(one.at_most for one in answer.not_modelled) else "≈"
    what = "; ".join(dict.fromkeys(one.what for one in answer.not_modelled))
    return spans(Span(f"{sign} {_holds(answer, blocks)}", "changed"), f"; not counted: {what}")


def _holds(answer: PlanAnswer, blocks: str) -> str:
    """What the cache holds."""
    if answer.capacity is None:
        return blocks
    requests, longest = answer.capacity.max_concurrency, answer.deployment.max_model_len
    many = "request" if requests == 1 else "requests"
    held = counted(answer.capacity.num_tokens, "token", ",")
    return f"{requests:,.2f} concurrent {many} of {counted(longest, 'token', ',')} ({held}, {blocks})"


FIT: dict[str, tuple[str, Style]] = {"fits": ("✓", "good"), "tight": ("≈", "changed"), "does not fit": ("✗", "bad")}
"""Verdict of an estimate → its sign and its style."""


def _fit(verdict: str) -> Spans:
    sign, style = FIT[verdict.partition(":")[0]]
    return spans(Span(f"{sign} {verdict[:1].upper()}{verdict[1:]}", style))


def refused(answer: PlanAnswer, estimated: bool = False) -> Iterable[Block]:
    """Where and why the engine refuses, or by an estimate would."""
    refusal = answer.refusal
    assert refusal is not None
    if estimated:
        yield Paragraph(spans("By the estimate the engine would not start; this is not the engine's own message."))
    yield Paragraph(spans(f"Why: {refusal.text}."))
    if refusal.where:
        yield Item("→", spans(refusal.where))


def _alike(answer: PlanAnswer, all_layers: bool) -> Iterable[list[PlannedGroup]]:
    """Groups that differ in nothing but their layers, together."""
    alike: dict[object, list[PlannedGroup]] = {}
    for group in answer.groups:
        facts = (group.spec, group.backends, group.page_size_bytes, group.blocks_per_request, group.grows)
        alike.setdefault(group.id if all_layers else facts, []).append(group)
    return alike.values()


def _row(alike: Sequence[PlannedGroup], answer: PlanAnswer, all_layers: bool) -> tuple[Cell, ...]:
    group, layers = alike[0], [name for group in alike for name in group.layer_names]
    held = [counted(group.blocks_per_request, "block", ","), "" if group.grows else "at most"]
    return (
        cell(fold_indices([group.id for group in alike])),
        cell(_kind(group)),
        cell(*(group.backends or ("",))),
        folded(layers, len(alike), all_layers),
        cell(f"{group.spec.block_size:,}"),
        cell(f"{group.page_size_bytes:,}"),
        cell(*_unused(alike, answer.workers[0].bytes_per_block)),
        cell(*filter(None, held), *(["each"] if len(alike) > 1 else [])),
    )


def _unused(alike: Sequence[PlannedGroup], whole: int) -> list[str]:
    """Bytes of a block that a group leaves empty, and their share of the block."""
    sizes = sorted({group.padding_bytes for group in alike})
    bytes_left = "–".join(f"{size:,}" for size in dict.fromkeys((sizes[0], sizes[-1])))
    return [bytes_left, f"{sizes[-1] / whole:.1%}"] if sizes[-1] else [bytes_left]


def _kind(group: PlannedGroup) -> str:
    kinds = " and ".join(dict.fromkeys(spec.reported_kind for spec in group.spec.each))
    return f"{kinds}, pages of several sizes" if group.spec.each_its_own else kinds


def _why(answer: PlanAnswer) -> Iterable[Block]:
    grouping = answer.grouping
    if grouping is None:
        return
    yield Paragraph(spans(f"Why: {grouping.why}."))
    for padding, layers in grouping.padding:
        slots = counted(padding, "slot")
        text = f"{slots} of padding for {counted(layers, 'layer')}, which wastes at most {padding / layers:.2%}"
        yield Item("!", spans(text + "."))


def _workers(answer: PlanAnswer) -> Iterable[Block]:
    """What the memory becomes; one line a worker where there are several."""
    for i, worker in enumerate(answer.workers):
        if not worker.groups:
            continue
        used = (answer.num_blocks or 0) * worker.bytes_per_block
        left = worker.available_memory - used
        name = f"Worker {i}: " if len(answer.workers) > 1 else ""
        blocks = f"{counted(answer.num_blocks or 0, 'block', ',')} of {counted(worker.bytes_per_block, 'byte', ',')}"
        text = f"{name}{blocks} {'takes' if answer.num_blocks == 1 else 'take'} {human_bytes(used)}"
        if left >= 0:
            text += f"; {human_bytes(left)} of {human_bytes(worker.available_memory)} are unused"
        if worker.num_blocks_alone != answer.num_blocks:
            text += f"; it has memory for {worker.num_blocks_alone:,}, but the smallest worker limits all"
        yield Paragraph(spans(text + "."))


def _capacity(answer: PlanAnswer) -> Iterable[Block]:
    found = answer.capacity
    if found is None:
        yield Paragraph(spans("No layer has a KV cache, so its memory limits no request."))
        return
    longest, cost = answer.deployment.max_model_len, found.cost
    if answer.longest_request is not None:
        tokens = counted(longest, "token", ",")
        yield Paragraph(
            spans(
                Span("never runs", "bad"),
                f": the engine starts, but a request of {tokens} waits forever, because one block of the pool is "
                f"the null block; requests of at most {counted(answer.longest_request, 'token', ',')} run.",
            )
        )
    if answer.deployment.auto_fit:
        tokens = counted(longest, "token", ",")
        yield Paragraph(spans(f"max_model_len auto: the longest request that fits has {tokens}, and that is used."))
    whole = cost.blocks * answer.workers[0].bytes_per_block
    rate = counted(round(cost.bytes_per_token), "byte", ",") + " per token"
    parts = [human_bytes(cost.fixed_bytes), rate] if cost.fixed_bytes else [rate]
    yield Paragraph(
        spans(
            f"A request costs {' and '.join(parts)} on each worker; one of {counted(longest, 'token', ',')} needs "
            f"{counted(cost.blocks, 'block', ',')} ({human_bytes(whole)}), and ",
            Span(f"{found.max_concurrency:.2f}", "strong"),
            " of them run concurrently.",
        )
    )
    yield Paragraph(spans("At start-up the engine logs:"))
    for line in answer.log_lines:
        yield Item(">", spans(line))
    yield Paragraph(spans(Span(_meaning(found, longest, answer.num_blocks or 0), "dim")))


def _meaning(found: Capacity, longest: int, blocks: int) -> str:
    """What the tokens of the engine's line are; where groups differ, blocks times tokens is another number."""
    product = f"The token count is the maximum concurrency, {found.max_concurrency:.2f}, times {longest:,}"
    if found.num_tokens == found.pool_tokens:
        return f"{product}; for this model it is also what {counted(blocks, 'block', ',')} can hold."
    return f"{product}; it is not what {counted(blocks, 'block', ',')} can hold."
