"""The call that was meant in place of one that is wrong: the same words, with what the error is about mended."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from kvinspect.cli.command_list import COMMANDS
from kvinspect.output.safe import safe

MAX_SHOWN = 400
"""Characters of a call that is proposed; of a longer one only the help is named."""

_NEAREST = re.compile(r"(?:[Dd]id you mean|the nearest name is) '?([^\s'?]+?)'?[?.](?:\s|$)")
_CHOICES = re.compile(r"is not one of '([^']+)'")
_SHORT = {
    "tensor_parallel_size": "-tp",
    "pipeline_parallel_size": "-pp",
    "data_parallel_size": "-dp",
    "decode_context_parallel_size": "-dcp",
    "format": "-f",
    "output": "-o",
}
"""Arguments that people write as short flags."""


def mended(words: Sequence[str], message: str, flags: Sequence[str] = (), instead: str = "") -> str:
    """A call that works in place of one that is wrong, or "" where none is known.

    `flags` are the options that the message is about, `instead` words that take their place, or that are added. A word
    that the message names is replaced by the nearest right one; else a flag that it is about is left out.
    """
    near = _NEAREST.search(message) or _CHOICES.search(message)
    flags = [*flags, *(_SHORT[flag[2:]] for flag in flags if flag[2:] in _SHORT)]
    found = (
        _with_instead(words, flags, instead)
        or (near and _replaced(words, message, near[1], flags))
        or _without(words, [*flags, *_flags_in(message)])
        or _without(words, _mentioned(words, message))
    )
    shown = safe(shlex.join(["kvinspect", *found])) if found else ""
    return shown if len(shown) <= MAX_SHOWN else ""


def _with_instead(words: Sequence[str], flags: Sequence[str], instead: str) -> list[str]:
    if not instead:
        return []
    left = _without(words, flags) or list(words)
    end = left.index("--") if "--" in left else len(left)
    return [*left[:end], *shlex.split(instead), *left[end:]]


def _replaced(words: Sequence[str], message: str, near: str, flags: Sequence[str]) -> list[str]:
    """The words with the one that the message names as the nearest right one; a value of `flags` before any other."""
    named = [i for i, word in enumerate(words) if i and _part_of(word, message, near)]
    behind = [i for i in named if words[i - 1] in flags or words[i].partition("=")[0] in flags]
    if not words or not (named or near in _commands(words)):
        return []
    at = (behind or named or [0])[-1]
    part = _part_of(words[at], message, near) or words[at]
    if near.startswith("--") and part == words[at] and not _has_value(words, at) and _takes_value(near, message):
        return []
    return [*words[:at], words[at].replace(part, near), *words[at + 1 :]]


def _commands(words: Sequence[str]) -> Sequence[str]:
    """The commands of the program, where the first word is none of them."""
    return () if words[0] in COMMANDS else tuple(COMMANDS)


def _part_of(word: str, message: str, near: str) -> str:
    """The part of a word that the message names, the whole before the part on either side of `=`."""
    for part in (word, *word.partition("=")[::2], re.sub(r"^\d+x", "", word)):
        if len(part) > 1 and part != near and (f"{part} is not a flag" in message or _quoted(part, message)):
            return part
    return ""


def _has_value(words: Sequence[str], at: int) -> bool:
    """Whether a value stands behind a flag."""
    return at + 1 < len(words) and not words[at + 1].startswith("-")


def _takes_value(flag: str, message: str) -> bool:
    """Whether a flag of the release that a message names takes a value."""
    from kvinspect.data.flags import read

    release = re.search(r"of vLLM (\d+\.\d+\.\d+)", message)
    facts = read(release[1]).by_name.get(flag[2:], {}) if release else {}
    return bool(facts.get("takes") != "nothing")


def _mentioned(words: Sequence[str], message: str) -> list[str]:
    """The last flag that a message mentions of those that the call has."""
    return [flag for flag in re.findall(r"--[a-z][\w.-]*", message) if flag in words][-1:]


def _quoted(part: str, message: str) -> bool:
    return any(form in message for form in (f"'{part}'", f'"{part}"', f"{part} is not found", f"argument; {part}"))


def _flags_in(message: str) -> list[str]:
    """The flags of the arguments that a message names, `--max-model-len` for `max_model_len`."""
    names = dict.fromkeys(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", message))
    return [
        flag for name in names for flag in (f"--{name.replace('_', '-')}", f"--{name}", _SHORT.get(name, "")) if flag
    ]


def _without(words: Sequence[str], flags: Sequence[str]) -> list[str]:
    """The words without some flags and their values; empty where they have none of them."""
    kept, skip = [], False
    for i, word in enumerate(words):
        if skip and not word.startswith("-"):
            skip = False
            continue
        skip = word in flags and i > 0
        if not skip and word.partition("=")[0] not in flags:
            kept.append(word)
    return kept if len(kept) < len(words) else []
