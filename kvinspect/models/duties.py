"""What of a call is not modelled: the flags, keys and variables that touch the cache, the graphs or start-up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvinspect.data import duties
from kvinspect.document.not_modelled import NotModelled
from kvinspect.document.problem import DocumentError, Problem, shown
from kvinspect.models.ignored_variables import is_ignored, why_ignored

SOURCE = "<environment>"
"""What the variables of a call are called in messages."""


def not_modelled(
    written: Mapping[str, Any], variables: Mapping[str, str], version: str, estimated: bool
) -> tuple[NotModelled, ...]:
    """What touches the cache and is left out, a name at a time; `estimated` where memory is not given but estimated."""
    known = duties.read(version)
    found = []
    for room, name, called, value in _names(written, variables):
        duty = known[room].get(name)
        if duty is not None and duty.touches(value) and (estimated or not duty.estimate):
            found.append(NotModelled(called, duty.says))
    return tuple(found)


def _names(written: Mapping[str, Any], variables: Mapping[str, str]) -> Iterator[tuple[str, str, str, Any]]:
    """(room, name in it, name as the user writes it, value) of all that is given."""
    for name, value in written.items():
        flag = str(name).replace("_", "-")
        yield duties.FLAGS, flag, f"--{flag}", value
        if isinstance(value, Mapping):
            for key, inner in value.items():
                yield duties.KEYS, f"{flag}.{key}", f"--{flag}.{key}", inner
    for name, value in variables.items():
        yield duties.VARIABLES, name, name, value


def _can_be_set(word: object) -> bool:
    """Whether an environment can hold a name or a value, each byte that is no UTF-8 as a lone surrogate."""
    if not isinstance(word, str) or "\0" in word:
        return False
    try:
        word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def environment(given: Mapping[str, str], version: str) -> Mapping[str, str]:
    """The variables of a call. Raises DocumentError for one of vLLM's that the release does not read, or no text."""
    odd = [(name, value) for name, value in given.items() if not _can_be_set(name) or not _can_be_set(value)]
    if odd:
        said = "is no variable of an environment, which has text for a name and for a value"
        raise DocumentError([Problem((), message=f"{shown(name)}: {said}", source=SOURCE) for name, _ in odd])
    problems = [
        Problem((name,), message=f"is no variable of vLLM {version}", hint=why_ignored(name, version), source=SOURCE,
                kind="unknown-key")
        for name in given
        if is_ignored(name, version)
    ]  # fmt: skip
    if problems:
        raise DocumentError(problems)
    return given
