"""What `plan --explain` says besides: where the numbers come from, and why these groups and backends."""

from __future__ import annotations

from collections.abc import Iterable

from kvinspect.document.numbers import counted
from kvinspect.planning.plan_answer import Capacity, ModelOrigin, PlanAnswer
from kvinspect.report.fold import human_bytes
from kvinspect.report.page_parts import Block, Heading, Item, Paragraph, Span, spans


def details(answer: PlanAnswer, origin: ModelOrigin | None) -> list[Block]:
    """The reasons, heading by heading."""
    found: list[Block] = []
    if answer.refusal is None:
        found += _section("Groups and blocks", [*_grouping(answer), *_workers(answer)])
        found += _section("What vLLM logs at start-up", _log_lines(answer))
    if origin is not None:
        found += _section("Attention backends", _backends(origin))
        found += _section("Model and memory", _model(origin))
    return found


def _section(title: str, blocks: Iterable[Block]) -> list[Block]:
    inside = list(blocks)
    return [Heading(spans(Span(title, "strong"))), *inside] if inside else []


def _grouping(answer: PlanAnswer) -> Iterable[Block]:
    if answer.grouping is not None:
        why = answer.grouping.why
        yield Item("•", spans(f"{why[:1].upper()}{why[1:]}."))
    if answer.capacity is not None:
        cost = answer.capacity.cost
        each = f"{cost.bytes_per_token / 1024:,.4g} KiB per token"
        fixed = f"a fixed {human_bytes(cost.fixed_bytes)} plus " if cost.fixed_bytes else ""
        yield Item("•", spans(f"A request needs {fixed}{each} on each worker."))


def _workers(answer: PlanAnswer) -> Iterable[Block]:
    """What the memory becomes; one line a worker where there are several."""
    for i, worker in enumerate(answer.workers):
        if worker.groups:
            used = (answer.num_blocks or 0) * worker.bytes_per_block
            name = f"Worker {i}: " if len(answer.workers) > 1 else ""
            blocks = f"{counted(answer.num_blocks or 0, 'block', ',')} of {human_bytes(worker.bytes_per_block)}"
            left = worker.available_memory - used
            unused = f" of {human_bytes(worker.available_memory)}; {human_bytes(left)} unused" if left >= 0 else ""
            yield Item("•", spans(f"{name}{blocks} take {human_bytes(used)}{unused}."))


def _log_lines(answer: PlanAnswer) -> Iterable[Block]:
    found = answer.capacity
    if found is None:
        return
    for line in answer.log_lines:
        yield Item(">", spans(line))
    yield Paragraph(spans(Span(_meaning(found, answer.deployment.max_model_len, answer.num_blocks or 0), "dim")))


def _meaning(found: Capacity, longest: int, blocks: int) -> str:
    """What the tokens of the engine's line are; where groups differ, blocks times tokens is another number."""
    product = f"vLLM computes the token count as the maximum concurrency ({found.max_concurrency:.2f}) × {longest:,}"
    if found.num_tokens == found.pool_tokens:
        return f"{product}; for this model {counted(blocks, 'block', ',')} hold the same number."
    return f"{product}; the {counted(blocks, 'block', ',')} can hold another number of tokens."


def _backends(origin: ModelOrigin) -> Iterable[Block]:
    """Why each backend was taken, and why not those before it."""
    for choice in origin.backends:
        yield Item("•", spans(Span(choice.backend, "strong"), f": {choice.why}."))
        for backend, reasons in choice.passed_over:
            yield Item(" ", spans(Span(f"{backend} rejected: no support for {', '.join(reasons)}.", "dim")))


def _model(origin: ModelOrigin) -> Iterable[Block]:
    """Where the config and the memory are from, how the block size was chosen, and what was left out."""
    for sentence in (origin.source, "" if origin.memory == "given" else f"memory {origin.memory}", *origin.steps):
        if sentence:
            yield Item("•", spans(f"{sentence[:1].upper()}{sentence[1:]}."))
