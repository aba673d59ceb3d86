"""Which flag of a release a written one is: cut short as `argparse` allows, short with its value, or removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kvinspect.data import flags as flag_files
from kvinspect.data.catalogue import versions
from kvinspect.data.flags import Flags
from kvinspect.document.problem import nearest, shortened

REMOVED: Mapping[str, str] = {
    "task": "use --runner pooling, with --convert embed, classify or reward",
    "device": "the platform is that of the installed vLLM; kvinspect takes --platform",
    "rope-scaling": "use --hf-overrides '{\"rope_parameters\": {…}}'",
    "rope-theta": "use --hf-overrides '{\"rope_parameters\": {…}}'",
    "guided-decoding-backend": "use --structured-outputs-config.backend",
    "guided-decoding-disable-fallback": "use --structured-outputs-config",
    "disable-log-requests": "requests are not logged unless --enable-log-requests is given",
    "cuda-graph-sizes": "use --cudagraph-capture-sizes",
    "max-seq-len-to-capture": "use --max-cudagraph-capture-size",
    "speculative-model": "use --speculative-config '{\"model\": …}'",
    "speculative-draft-tensor-parallel-size": "use --speculative-config '{\"draft_tensor_parallel_size\": …}'",
    "ngram-prompt-lookup-max": 'use --speculative-config \'{"method": "ngram", "prompt_lookup_max": …}\'',
    "ngram-prompt-lookup-min": 'use --speculative-config \'{"method": "ngram", "prompt_lookup_min": …}\'',
    "enable-reasoning": "--reasoning-parser alone switches it on",
    "worker-use-ray": "use --distributed-executor-backend ray",
    "engine-use-ray": "use --distributed-executor-backend ray",
    "swap-space": "the engine has no swap space any more; leave it out",
    "num-lookahead-slots": "leave it out",
    "use-v2-block-manager": "leave it out",
    "preemption-mode": "leave it out",
    "multi-step-stream-outputs": "leave it out",
    "num-scheduler-steps": "leave it out",
    "scheduler-delay-factor": "leave it out",
    "enable-lora-bias": "leave it out",
    "lora-extra-vocab-size": "leave it out",
}
"""Flags that older releases had → what to do now. A release that has the flag in its own table takes it."""

_NEGATIVE = re.compile(r"-[0-9]+$|-[0-9]*\.[0-9]+$", re.ASCII)


class Named(NamedTuple):
    """The name of a flag without its dashes, and a value that a short one carries in the same word."""

    name: str
    attached: str | None = None


def is_flag(word: str) -> bool:
    """Whether a word is a flag to the parser, and no value: negative numbers and words with a blank are values."""
    if not word.startswith("-") or word == "-" or _NEGATIVE.match(word):
        return False
    return " " not in word.partition("=")[0]


def named(written: str, flags: Flags, ours: Sequence[str] = ()) -> Named:
    """The flag that is written, however short. Raises ValueError where several begin so.

    A name that nothing begins with is given back as it is, with dashes for underscores.
    """
    if not written.startswith("--"):
        return _short(written, flags)
    name = written[2:].replace("_", "-")
    if name in ours or flags.find(name) is not None or not name:
        return Named(name)
    found = [one for one in _long_names(flags) if one.startswith(name)]
    return Named(_only(written, [f"--{one}" for one in found])[2:] if found else name)


def _short(written: str, flags: Flags) -> Named:
    """A flag with one dash: `-tp`, `-q` with its value behind it, or the beginning of a longer one."""
    by_short = _shorts(flags)
    if written in by_short:
        return Named(by_short[written])
    found = [one for one in by_short if one.startswith(written)]
    letter = by_short.get(written[:2])
    if letter is not None:
        found.append(written[:2])
    if not found:
        return Named(written.lstrip("-").replace("_", "-"))
    one = _only(written, found)
    return Named(by_short[one], written[2:] if one == written[:2] else None)


def _only(written: str, found: Sequence[str]) -> str:
    if len(found) > 1:
        some = ", ".join(found[:6]) + (" and others" if len(found) > 6 else "")
        raise ValueError(f"ambiguous flag {shortened(written, 60)}: {some} begin so")
    return found[0]


def _shorts(flags: Flags) -> Mapping[str, str]:
    """Short flag → its long name."""
    known = flags.by_name.items()
    return {short: name for name, facts in known if "stands_for" not in facts for short in facts.get("short", ())}


def _long_names(flags: Flags) -> Iterator[str]:
    """Every long name that the parser knows, those that negate too."""
    for name, facts in flags.by_name.items():
        yield name
        if facts.get("negates") and "stands_for" not in facts:
            yield f"no-{name}"


def unknown(written: str, name: str, flags: Flags, ours: Sequence[str] = ()) -> str:
    """What is said of a flag that the release does not have: what replaces it, who has it, or the nearest one."""
    head = name.partition(".")[0]
    said = replaced(head, flags)
    if not said:
        near = nearest(head, [*flags.by_name, *ours])
        said = f"; did you mean --{near}?" if near else ""
    return f"{written} is not a flag of vLLM {flags.release}{said}"


def replaced(name: str, flags: Flags) -> str:
    """What replaces a flag that other releases have, and which of them; empty where none does."""
    head = name.partition(".")[0].replace("_", "-")
    others = [version for version in versions() if flag_files.read(version).find(head)]
    remedy = REMOVED.get(head)
    if others and _is_older(others[-1], flags.release):
        return f"; the last release with it is {others[-1]}" + (f": {remedy}" if remedy else "")
    if others:
        return f"; {others[0]} is the first release with it" if _is_older(flags.release, others[0]) else ""
    return f"; releases before {versions()[0]} had it: {remedy}" if remedy else ""


def _is_older(one: str, other: str) -> bool:
    known = list(versions())
    return one in known and other in known and known.index(one) < known.index(other)
