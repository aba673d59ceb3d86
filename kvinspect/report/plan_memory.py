"""The memory of a GPU as a sum: what the engine may use, what that is for, and what is left for the KV cache."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.document.numbers import counted
from kvinspect.planning.memory_sum import MemorySum
from kvinspect.report.page_parts import Cell, Column, Span, Table, cell, columns

GIB = 1 << 30

NAMED_APART = "activations"
"""The term that is shown by itself; the others are small."""


def memory_table(found: MemorySum) -> Table:
    """The terms of an estimate in GiB, the KV cache last."""
    head = f"memory of each GPU ({found.gpu_name or 'a GPU'}, {found.gpu / GIB:.1f} GiB)"
    return Table(columns(head, Column("GiB", "number"), Column("", "prose")), tuple(_rows(found)), ruled=False)


def _rows(found: MemorySum) -> Iterator[tuple[Cell, ...]]:
    yield cell(f"vLLM may use (utilization {found.utilization:g})"), cell(gib(found.requested)), cell("")
    share = f" (1 of {found.ranks} shares)" if found.ranks > 1 else ""
    yield cell(f"weights{share}"), cell(_less(found.weights)), cell(Span(found.weights_from, "dim"))
    terms = dict(found.terms)
    if NAMED_APART in terms:
        batch = counted(found.batched_tokens, "batched token", ",")
        yield cell(f"{NAMED_APART} at {batch}"), cell(_less(terms.pop(NAMED_APART))), cell("")
    if terms:
        names = [*list(terms)[:2], "…"] if len(terms) > 2 else list(terms)
        yield cell(", ".join(names)), cell(_less(sum(terms.values()))), cell("")
    yield cell(Span("KV cache", "strong")), cell(Span(gib(found.left), "strong")), cell(Span(_margin(found), "dim"))


def _margin(found: MemorySum) -> str:
    """How good the estimate is, and how to get an exact one."""
    if found.margin is None:
        return "estimated, margin unknown"
    return f"± {found.margin / GIB:.1f} (estimated)"


def gib(size: int) -> str:
    """A size in GiB with one decimal, below 0 with a minus sign.

    >>> gib(5 << 30), gib(-1 << 29)
    ('5.0', '−0.5')
    """
    return f"{size / GIB:.1f}".replace("-", "−")


def _less(size: int) -> str:
    return f"−{size / GIB:.1f}"
