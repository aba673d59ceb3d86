"""Whether so many requests of one shape fit in a planned cache at once, and what share of it they take."""

from __future__ import annotations

from typing import Any, NamedTuple

from kvinspect.document.limits import MAX_SIZE
from kvinspect.document.numbers import counted
from kvinspect.planning.plan_answer import PlanAnswer
from kvinspect.planning.prefixes import PrefixBlocks

NULL_BLOCKS = 1
"""Blocks of the pool that no request gets (`BlockPool.__init__`, 0.25 to 0.33)."""


class RequestShape(NamedTuple):
    """So many requests at once, each with tokens of a prompt and of an answer; a prefix that all prompts begin with."""

    number: int
    prompt: int
    output: int
    shared_prefix: int = 0

    @property
    def tokens(self) -> int:
        """Tokens of a request when it ends."""
        return self.prompt + self.output

    @property
    def words(self) -> str:
        """`32 requests of 8,000 + 1,000 tokens`."""
        return f"{counted(self.number, 'request', ',')} of {self.prompt:,} + {counted(self.output, 'token', ',')}"

    def checked(self) -> RequestShape:
        """The same. Raises ValueError for a number out of range, and for a prefix that is longer than the prompt."""
        for name, least in (("number", 1), ("prompt", 1), ("output", 1), ("shared_prefix", 0)):
            value = getattr(self, name)
            if type(value) is not int or not least <= value <= MAX_SIZE:
                raise ValueError(
                    f"requests: {name}: expected a whole number from {least} to {MAX_SIZE}, found {value!r}"
                )
        if self.shared_prefix > self.prompt:
            raise ValueError(
                f"requests: the shared prefix has {self.shared_prefix:,} tokens, and the whole prompt {self.prompt:,}"
            )
        return self


class RequestLoad(NamedTuple):
    """What requests of one shape take of the cache; `blocks` are those of the pools that requests get."""

    shape: RequestShape
    blocks: int
    blocks_per_request: int
    shared_blocks: int
    at_once: int
    limit: str
    """What limits `at_once`: `kv_cache`, `max_num_seqs`, or `max_model_len` where vLLM rejects such requests."""
    engines: int = 1
    """Data-parallel ranks, each with a cache of its own; the numbers are those of all of them."""

    @property
    def fits(self) -> bool:
        """Whether all requests run at once."""
        return self.at_once >= self.shape.number

    @property
    def of_an_engine(self) -> int:
        """Requests that the engine with most of them gets."""
        return -(-self.shape.number // self.engines)

    @property
    def needed(self) -> int:
        """Blocks of all requests together."""
        shared = self.shared_blocks * min(self.engines, self.shape.number)
        return shared + self.shape.number * (self.blocks_per_request - self.shared_blocks)

    @property
    def share(self) -> float | None:
        """The part of the cache that they take, above 1 where it is too small; None where there is none."""
        return self.needed / self.blocks if self.blocks else None


class RequestAnswer(NamedTuple):
    """The load of the requests by the estimate, and at both ends of its band where it has one."""

    load: RequestLoad
    ends: tuple[RequestLoad, RequestLoad] | None = None

    @property
    def verdict(self) -> str:
        """`fits`, `tight` or `does not fit`."""
        low, high = self.ends or (self.load, self.load)
        return "fits" if low.fits else "tight" if high.fits else "does not fit"

    @property
    def at_once(self) -> tuple[int, int]:
        """How many run at once, at both ends of the band."""
        low, high = self.ends or (self.load, self.load)
        return low.at_once, high.at_once

    @property
    def sentence(self) -> str:
        """The answer in words."""
        load, what = self.load, self.load.shape.words
        if load.limit == "max_model_len":
            return f"Does not fit: {what} are longer than max_model_len; vLLM rejects such requests"
        low, high = self.at_once
        fit = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        about = "" if self.ends is None else "about "
        share = f"; together they take {about}{load.share:.0%} of the KV cache" if load.share is not None else ""
        why = " (max_num_seqs)" if load.limit == "max_num_seqs" and not load.fits else ""
        return f"{self.verdict[:1].upper()}{self.verdict[1:]}: {what}; {fit} can run concurrently{why}{share}"

    def to_dict(self) -> dict[str, Any]:
        """The answer as JSON; sizes in blocks, lengths in tokens."""
        low, high = self.at_once
        return {
            **self.load.shape._asdict(),
            "verdict": self.verdict,
            "at_once": {"low": low, "estimate": self.load.at_once, "high": high},
            "limited_by": self.load.limit,
            "blocks_per_request": self.load.blocks_per_request,
            "shared_blocks": self.load.shared_blocks,
            "blocks_needed": self.load.needed,
            "blocks": self.load.blocks,
            "share": self.load.share,
            **({"engines": self.load.engines} if self.load.engines > 1 else {}),
        }


def load_of(
    answer: PlanAnswer, shape: RequestShape, prefixes: PrefixBlocks | None, max_num_seqs: int, engines: int = 1
) -> RequestLoad:
    """What the requests take of a plan's cache, each group at its own cost; nothing fits where the engine refuses.

    A prefix is shared in whole steps by which it is found again, in groups that keep all tokens; a window and a state
    are each request's own. Of several `engines` each gets as many of the requests.
    """
    if shape.tokens > answer.deployment.max_model_len:
        return RequestLoad(shape, 0, 0, 0, 0, "max_model_len", engines)
    groups = answer.workers[0].groups if answer.starts and answer.workers else ()
    if not groups:
        at_once, limit = (max_num_seqs * engines, "max_num_seqs") if answer.starts else (0, "kv_cache")
        return RequestLoad(shape, 0, 0, 0, at_once, limit, engines)
    deployment = answer.deployment._replace(max_model_len=shape.tokens)
    each = sum(group.spec.request_blocks(deployment) for group in groups)
    found_again = _found_again(shape, prefixes)
    shared = sum(
        found_again // (group.first_spec.block_size * group.spec.shards(deployment))
        for group in groups
        if group.spec.grows(deployment)
    )
    blocks = max((answer.num_blocks or 0) - NULL_BLOCKS, 0)
    room = max(blocks - shared, 0) // max(each - shared, 1)
    limit = "kv_cache" if room <= max_num_seqs else "max_num_seqs"
    return RequestLoad(shape, blocks * engines, each, shared, min(room, max_num_seqs) * engines, limit, engines)


def _found_again(shape: RequestShape, prefixes: PrefixBlocks | None) -> int:
    """Tokens of the shared prefix that a request finds in the cache; the last token of a prompt is always computed."""
    if prefixes is None or not prefixes.hits:
        return 0
    return min(shape.shared_prefix, shape.prompt - 1) // prefixes.hits * prefixes.hits
