"""What a start-up log says beside what the plan gives; the log's memory is rounded, so a plan is a range."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from kvinspect.engine.specs import MambaSpec
from kvinspect.planning.answer import PlanAnswer
from kvinspect.planning.start_up_log import StartUpLog

GIB = 1 << 30


class Compared(NamedTuple):
    """A number of the log, the least and the most that the plan gives, and whether the log lies between."""

    what: str
    logged: Any
    least: Any
    most: Any

    @property
    def agrees(self) -> bool:
        """Whether the log says what the plan gives."""
        return bool(self.least <= self.logged <= self.most)

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON."""
        numbers = {name: float(v) if isinstance(v, Decimal) else v for name, v in self._asdict().items()}
        return {**numbers, "agrees": self.agrees}


def memory_range(log: StartUpLog) -> tuple[int, int] | None:
    """The least and the most bytes for the cache that the smallest worker's line can mean; None without such a line."""
    sizes = log.available_gib.values()
    if not sizes:
        return None
    half = Decimal("0.005")
    return int((min(sizes) - half) * GIB), int((min(sizes) + half) * GIB)


def comparison(log: StartUpLog, low: PlanAnswer, high: PlanAnswer) -> tuple[Compared, ...]:
    """The log against the plans with the least and the most memory that it can mean."""
    return tuple(row for row in _rows(log, low, high) if row.logged is not None and row.least is not None)


def _rows(log: StartUpLog, low: PlanAnswer, high: PlanAnswer) -> Iterator[Compared]:
    longest = high.deployment.max_model_len
    yield Compared("longest request in tokens", log.max_model_len, longest, longest)
    block = _attention_block(high)
    yield Compared("tokens of an attention block", log.attention_block_size, block, block)
    if low.num_blocks is not None and high.num_blocks is not None:
        yield Compared("blocks", log.num_blocks, low.num_blocks, high.num_blocks)
    if low.capacity is None or high.capacity is None:
        return
    if log.size_meaning == "blocks":
        yield Compared("tokens of the pool", log.num_tokens, low.capacity.pool_tokens, high.capacity.pool_tokens)
    else:
        yield Compared("tokens", log.num_tokens, low.capacity.num_tokens, high.capacity.num_tokens)
    yield Compared("requests at once", log.max_concurrency, _two(low), _two(high))


def _attention_block(answer: PlanAnswer) -> int | None:
    sizes = [group.spec.block_size for group in answer.groups if not isinstance(group.spec, MambaSpec)]
    return sizes[0] if sizes else None


def _two(answer: PlanAnswer) -> Decimal:
    """Requests at once as the engine prints them."""
    assert answer.capacity is not None
    return Decimal(f"{answer.capacity.max_concurrency:.2f}")
