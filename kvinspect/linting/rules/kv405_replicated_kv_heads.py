"""KV405: more ranks than KV heads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvinspect.document.numbers import counted
from kvinspect.linting.rule import NOTE, Found, Rule

if TYPE_CHECKING:
    from kvinspect.linting.subjects.model_config import ModelSubject


def check(subject: ModelSubject) -> Iterator[Found]:
    """Ranks that hold the same KV heads as others, so that more ranks no longer mean less cache on each."""
    setting = subject.stages[0].setting
    ranks, heads = setting.ranks, setting.shape.kv_heads
    if 0 < heads < ranks and not setting.shape.is_mla:
        copies = counted(ranks // heads, "time")
        kept = f"{counted(ranks, 'rank')} share {counted(heads, 'KV head')}, so each head is stored {copies}"
        text = f"{kept}: the cache per rank is no smaller than with {counted(heads, 'rank')}"
        yield Found(("parallel_config",), text)


RULE = Rule("KV405", "replicated-kv-heads", NOTE, "more tensor-parallel ranks than KV heads", check, "model")
