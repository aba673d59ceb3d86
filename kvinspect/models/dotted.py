"""Dotted flags such as `--hf-overrides.rope_theta 1`: the object that all of them make together.

The source is `FlexibleArgumentParser.parse_args` (0.25 to 0.33), which makes one JSON flag of them behind all
other words, so that it wins over the flag itself, in the command and in a file.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


class Keys(dict[str, Any]):
    """What the dotted flags of one JSON flag set."""


def put(arguments: dict[str, Any], name: str, keys: Sequence[str], value: Any) -> None:
    """Set a key of an argument. One that was set before is replaced, with a warning, but a list is made longer."""
    for key in reversed(keys):
        value = {key: value}
    held = arguments.get(name)
    if not isinstance(held, Keys):
        if held is not None:
            warn_of_dots(name)
        held = arguments[name] = Keys()
    _merge(name, held, value)


def joined(file: Mapping[str, Any], command: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a file and of the command, which wins, save over the keys that dots in the file set."""
    found = {**file, **command}
    for name, held in file.items():
        if isinstance(held, Keys) and name in command:
            if isinstance(command[name], Keys):
                _merge(name, held, command[name])
            else:
                warn_of_dots(name)
            found[name] = held
    return found


def warn_of_dots(name: str) -> None:
    """Warn that an argument is given as a whole and key by key."""
    flag = name.replace("_", "-")
    warnings.warn(f"--{flag} is given twice, as a whole and key by key; the keys alone count", stacklevel=2)


def warn_of_repeated(name: str, paths: Sequence[Sequence[object]]) -> None:
    """Warn that keys of an argument are given more than once; one line, however many they are."""
    if not paths:
        return
    first = ".".join((name.replace("_", "-"), *map(str, paths[0])))
    more = f" (and {len(paths) - 1:,} more)" if len(paths) > 1 else ""
    warnings.warn(f"--{first} is given twice{more}; the last one counts", stacklevel=2)


def _merge(name: str, held: dict[str, Any], given: Mapping[str, Any]) -> None:
    warn_of_repeated(name, [*_merged(held, given)])


def _merged(held: dict[str, Any], given: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """Put one object into another; the paths of what was replaced."""
    for key, value in given.items():
        old = held.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            yield from ((key, *path) for path in _merged(old, value))
        elif isinstance(old, list) and isinstance(value, list):
            held[key] = [*old, *value]
        else:
            if key in held:
                yield (key,)
            held[key] = value
