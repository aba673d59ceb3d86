"""Whether words or keys are vLLM's arguments, told by their names alone: what only vLLM has, and what it had."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from kvinspect.data import flags
from kvinspect.data.catalogue import versions
from kvinspect.document.problem import nearest
from kvinspect.models.flag_names import REMOVED, is_flag
from kvinspect.places.fragment import Word

SHARED = frozenset((
    "model", "host", "port", "api-key", "dtype", "device", "seed", "config", "help", "tokenizer", "tokenizer-mode",
    "revision", "served-model-name", "trust-remote-code", "quantization", "chat-template", "log-level", "root-path",
    "download-dir", "load-format", "hf-token", "runner", "task", "grpc", "headless", "middleware", "watermark",
    "tensor-parallel-size", "pipeline-parallel-size", "data-parallel-size", "nnodes", "node-rank", "master-addr",
    "master-port", "allowed-origins", "allowed-methods", "allowed-headers", "allow-credentials", "ssl-keyfile",
    "ssl-certfile", "ssl-ca-certs", "uds", "stream-interval", "tool-call-parser", "reasoning-parser", "enable-lora",
    "max-lora-rank", "lora-modules", "kv-cache-dtype", "generation-config", "block-size",
    "watchdog-config", "response-role", "attention-backend", "moe-backend",
))  # fmt: skip
"""Flags that other engines, trainers and tools have under the same name; they tell nothing."""


@cache
def every_flag() -> frozenset[str]:
    """The flags of every release, and those that older ones had; words joined by dashes."""
    return frozenset(name for version in versions() for name in flags.read(version).by_name) | frozenset(REMOVED)


@cache
def _names() -> tuple[str, ...]:
    return tuple(sorted(every_flag()))


def name_of(word: str) -> str:
    """The name that a flag or a key is of: without dashes in front, value and keys behind a dot.

    >>> name_of("--limit_mm_per_prompt.image=4"), name_of("maxModelLen")
    ('limit-mm-per-prompt', 'max-model-len')
    """
    name = word.lstrip("-").partition("=")[0].partition(".")[0]
    if not word.startswith("-"):
        name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
    return name.replace("_", "-")


def is_known(word: str) -> bool:
    """Whether some release has a flag: in full, negated, short, or cut short as its parser allows."""
    name = name_of(word)
    if name in every_flag() or name.removeprefix("no-") in every_flag():
        return True
    if re.fullmatch(r"-[a-zA-Z]{1,3}", word):
        return any(word in facts.get("short", ()) for facts in flags.read(versions()[-1]).by_name.values())
    return word.startswith("--") and len(name) > 3 and any(one.startswith(name) for one in _names())


def tells(names: Iterable[str]) -> int:
    """How many of the names only vLLM has."""
    found = {name for name in names if name not in SHARED}
    return sum(name in every_flag() or any(one.startswith(name) for one in _names()) for name in found)


def are_the_engines(words: Sequence[str], at_least: int = 1) -> bool:
    """Whether words that nothing names a program for are vLLM's: all flags are known or nearly so, some only there."""
    found = [word for word in words if is_flag(word)]
    strange = [word for word in found if not is_known(word)]
    near = [word for word in strange if nearest(name_of(word), _names())]
    enough = tells(name_of(word) for word in found) >= at_least
    return bool(found) and enough and len(near) == len(strange) and 4 * len(strange) <= len(found)


def own_flags(words: Sequence[Word]) -> tuple[Word, ...]:
    """The flags of a wrapper: those that no release of vLLM has in full."""
    return tuple(_own(words))


def _own(words: Sequence[Word]) -> Iterator[Word]:
    for word in words:
        name = name_of(word.text)
        if is_flag(word.text) and name not in every_flag() and name.removeprefix("no-") not in every_flag():
            short = re.fullmatch(r"-\w{1,3}", word.text) is not None
            if not (short and is_known(word.text)):
                yield word
