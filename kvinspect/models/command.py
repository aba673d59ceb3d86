"""What a `vllm serve` command and its `--config` file say, as engine arguments by their Python names.

The source is `FlexibleArgumentParser` (0.25 to 0.28): a flag takes dashes or underscores, a dotted one sets a key of a
JSON flag, `--no-` negates, and a config file's keys are flags that the command's own win over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kvinspect.document.numbers import human_number
from kvinspect.document.problem import DocumentError, Problem, nearest
from kvinspect.document.source import Source
from kvinspect.engine.catalogue.flags import Flags

LEVELS = ("0", "1", "2", "3")
"""What `-O` takes."""

OURS = ("num-speculative-tokens",)
"""Names that people use and no release has: what stands in `--speculative-config`."""


class Command(NamedTuple):
    """The words of a command that are no flags, and the arguments that its flags set."""

    positional: tuple[str, ...]
    arguments: Mapping[str, Any]


def read_words(words: Sequence[str], flags: Flags) -> Command:
    """A command's words. Raises ValueError for a flag that the release does not have, or that lacks its value."""
    positional: list[str] = []
    arguments: dict[str, Any] = {}
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            positional += left
            break
        if not word.startswith("-") or word == "-":
            positional.append(word)
            continue
        if word.startswith("-O"):
            arguments["optimization_level"] = _level(word, left, flags)
            continue
        name, facts, given = _flag(word, flags)
        _set(arguments, *_home(name, facts, _value(word, name, facts, given, left)))
    return Command(tuple(positional), arguments)


def _level(word: str, left: list[str], flags: Flags) -> str:
    """`-O3`, `-O=3` and `-O 3` are one flag, and no key of it can be set."""
    level = word[3:] if word[2:3] == "=" else word[2:]
    if word == "-O" and left[:1] and left[0] in LEVELS:
        level = left.pop(0)
    if level not in LEVELS or "optimization-level" not in flags.by_name:
        raise ValueError(f"{word} is no flag of vLLM {flags.release}; -O takes a level from 0 to 3, as in -O3")
    return level


def _flag(word: str, flags: Flags) -> tuple[str, Mapping[str, Any], str | None]:
    """(name without dashes, what it takes, the value behind `=`)."""
    written, equals, given = word.partition("=")
    head, dot, keys = written.partition(".")
    name = _long(head, flags).lstrip("-").replace("_", "-") + dot + keys
    facts = {"takes": "value"} if name in OURS else flags.find(name)
    if facts is None:
        near = nearest(name.partition(".")[0], [*flags.by_name, *OURS])
        hint = f"; did you mean --{near}?" if near else ""
        raise ValueError(f"{written} is no flag of vLLM {flags.release}{hint}")
    return name, facts, given if equals else None


def _long(written: str, flags: Flags) -> str:
    """The long name of a short flag such as `-tp`."""
    for name, facts in flags.by_name.items():
        if written in facts.get("short", ()):
            return name
    return written


def _value(word: str, name: str, facts: Mapping[str, Any], given: str | None, left: list[str]) -> Any:
    dotted = "." in name
    if facts["takes"] == "nothing" and given is None and not dotted:
        return not (name.startswith("no-") and facts.get("negates"))
    if facts["takes"] == "list" and given is None and not dotted:
        taken = []
        while left and not left[0].startswith("-"):
            taken.append(left.pop(0))
        return taken
    if given is None:
        if not left:
            raise ValueError(f"{word} lacks its value")
        given = left.pop(0)
    return _of_key(given) if dotted else _typed(given)


def _of_key(text: str) -> Any:
    """The value of a dotted flag: JSON, else a number with a suffix, else the text."""
    for read in (json.loads, human_number):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _typed(text: str) -> Any:
    """JSON where it is that, else the text."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_file(source: Source, flags: Flags) -> dict[str, Any]:
    """The arguments that a `--config` file sets, keys in its order. Raises DocumentError for one that is no flag."""
    arguments: dict[str, Any] = {}
    problems = []
    for key, value in source.value.items():
        name = str(key)
        facts = flags.find(name)
        if facts is None and name.replace("_", "-") not in OURS:
            near = nearest(name, flags.by_name)
            message = f"is no flag of vLLM {flags.release}"
            problems.append(
                source.place(Problem((key,), message=message, nearest=near, kind="unknown-key", at_key=True))
            )
            continue
        for said in _said(value, flags):
            negated = name.startswith("no-") and facts is not None and facts.get("negates")
            _set(arguments, *_home(name, facts or {}, not said if negated and isinstance(said, bool) else said))
    if problems:
        raise DocumentError(problems)
    return arguments


def _said(value: Any, flags: Flags) -> Iterator[Any]:
    """What a key's value becomes on the command line: nothing where the loader drops it."""
    dropped = value is None or value == [] or (value is False and flags.drops_false)
    if not dropped:
        yield value if isinstance(value, (bool, list, dict)) else _typed(str(value))


def _home(name: str, facts: Mapping[str, Any], value: Any) -> tuple[str, Any]:
    """(flag, value) of an alias under the name that it stands for; of `enable` and `disable` one is the other's no."""
    home = facts.get("stands_for", name)
    first, other = (word.replace("_", "-").partition("-")[0] for word in (home, name))
    return home, not value if {first, other} == {"enable", "disable"} and isinstance(value, bool) else value


def _set(arguments: dict[str, Any], name: str, value: Any) -> None:
    """Set an argument, or the key of one that a dotted name leads to."""
    head, *keys = name.split(".")
    head = head.replace("-", "_").removeprefix("no_") if value is False else head.replace("-", "_")
    if not keys:
        arguments[head] = value
        return
    place = arguments.setdefault(head, {})
    for key in keys[:-1]:
        place = place.setdefault(key, {}) if isinstance(place, dict) else place
    if not isinstance(place, dict):
        raise ValueError(f"{name} sets a key of what is no JSON object")
    place[keys[-1]] = value
