"""What a start-up log says beside what the plan gives; the log's memory is rounded, so a plan is a range."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from kvinspect.planning.plan_answer import Capacity, PlanAnswer
from kvinspect.start_up_log.reader import HALF_A_DIGIT, StartUpLog

GIB = 1 << 30


class Compared(NamedTuple):
    """A number of the log, the least and the most that the plan gives, and whether the log lies between.

    The least and the most are None where the engine refuses, which less memory than enough makes it do.
    """

    what: str
    logged: Any
    least: Any
    most: Any

    @property
    def agrees(self) -> bool:
        """Whether the log says what the plan gives."""
        if self.most is None:
            return False
        return bool((self.least is None or self.least <= self.logged) and self.logged <= self.most)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON."""
        numbers = {name: float(v) if isinstance(v, Decimal) else v for name, v in self._asdict().items()}
        return {**numbers, "agrees": self.agrees}


def memory_range(log: StartUpLog) -> tuple[int, int] | None:
    """The least and the most bytes for the cache that the smallest worker's line can mean; None without such a line.

    The engine logs less than nothing where the weights leave nothing; a plan has no less than 0 bytes.
    """
    sizes = log.available_gib.values()
    if not sizes:
        return None
    least, most = ((min(sizes) + half) * GIB for half in (-HALF_A_DIGIT, HALF_A_DIGIT))
    return max(int(least), 0), max(int(most), 0)


def comparison(log: StartUpLog, low: PlanAnswer, high: PlanAnswer) -> tuple[Compared, ...]:
    """The log against the plans with the least and the most memory that it can mean."""
    return tuple(row for row in _rows(log, low, high) if row.logged is not None)


def _rows(log: StartUpLog, low: PlanAnswer, high: PlanAnswer) -> Iterator[Compared]:
    if log.starts is False or not high.starts:
        yield Compared("the engine starts", log.starts, low.starts, high.starts)
    longest = high.deployment.max_model_len
    yield Compared("longest request in tokens", log.max_model_len, longest, longest)
    block = _attention_block(high)
    if block is not None:
        yield Compared("tokens of an attention block", log.attention_block_size, block, block)
    if high.num_blocks is not None or not high.starts:
        yield Compared("blocks", log.num_blocks, *(_unless_refused(plan, plan.num_blocks) for plan in (low, high)))
    if high.capacity is not None or not high.starts:
        yield from _capacity_rows(log, low, high)


def _capacity_rows(log: StartUpLog, low: PlanAnswer, high: PlanAnswer) -> Iterator[Compared]:
    def row(what: str, logged: Any, number: Callable[[Capacity], Any]) -> Compared:
        found = (plan.capacity and number(plan.capacity) for plan in (low, high))
        return Compared(what, logged, *map(_unless_refused, (low, high), found))

    if log.size_meaning == "blocks":
        yield row("tokens of the pool", log.num_tokens, lambda capacity: capacity.pool_tokens)
    else:
        yield row("tokens", log.num_tokens, lambda capacity: capacity.num_tokens)
    yield row("concurrent requests", log.max_concurrency, _two)


def _unless_refused(plan: PlanAnswer, number: Any) -> Any:
    """A plan may hold numbers that it was refused for."""
    return number if plan.starts else None


def _attention_block(answer: PlanAnswer) -> int | None:
    sizes = [group.spec.block_size for group in answer.groups if not group.spec.holds_states]
    return sizes[0] if sizes else None


def _two(capacity: Capacity) -> Decimal:
    """Requests at once as the engine prints them."""
    return Decimal(f"{capacity.max_concurrency:.2f}")
