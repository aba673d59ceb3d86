"""The keys of flags that take a JSON object: the engine refuses one that its configuration has no field for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from kvinspect.data.catalogue import read_file, versions
from kvinspect.document.problem import DocumentError, Path, Problem, nearest
from kvinspect.models import nested
from kvinspect.models.given import SOURCE
from kvinspect.models.speculative_keys import wrong_values

SPECULATIVE, TRANSFER = "speculative-config", "kv-transfer-config"

CHILDREN = ("kv_connector_extra_config", "connectors")
"""Where a transfer that holds others has them."""


def check_keys(written: Mapping[str, Any], version: str, dashes: bool) -> None:
    """Nothing where the release has all keys of the flags that are given; `dashes` where a draft's may have them.

    Raises DocumentError with a problem for each key that it lacks, and each value of a draft that it refuses.
    """
    found = [*unknown_keys(written, version, dashes), *_wrong_draft(written, version)]
    problems = [problem._replace(source=SOURCE) for problem in found]
    if problems:
        raise DocumentError(problems)


def _wrong_draft(written: Mapping[str, Any], version: str) -> Iterator[Problem]:
    for name, value in written.items():
        flag = str(name).replace("-", "_")
        if flag == "speculative_config" and isinstance(value, Mapping):
            yield from wrong_values(value, (str(name),), version)
        elif flag in nested.SPECULATIVE:
            found = wrong_values({nested.SPECULATIVE[flag]: value}, (), version)
            yield from (problem._replace(path=(str(name),)) for problem in found)


def unknown_keys(written: Mapping[str, Any], version: str, dashes: bool) -> Iterator[Problem]:
    """A problem for each key that the release lacks, under the flag's name as it is written."""
    known = _keys(version)
    for name, value in written.items():
        flag = str(name).replace("_", "-")
        if flag in known and isinstance(value, Mapping):
            yield from _of(flag, (str(name),), value, version, dashes and flag == SPECULATIVE)


def _of(flag: str, path: Path, value: Mapping[str, Any], version: str, dashes: bool) -> Iterator[Problem]:
    known = _keys(version)[flag]
    for key in map(str, value):
        name = key.replace("-", "_") if dashes else key
        if name not in known:
            message = f"is no key of --{flag} in vLLM {version}{_first(flag, name, version)}"
            near = "" if "; " in message else nearest(name, known)
            yield Problem((*path, key), message=message, nearest=near, kind="unknown-key", at_key=True)
    if flag == TRANSFER:
        for i, child in enumerate(_children(value)):
            if isinstance(child, Mapping):
                yield from _of(flag, (*path, *CHILDREN, i), child, version, dashes)


def _children(value: Mapping[str, Any]) -> list[Any] | tuple[Any, ...]:
    extra = value.get(CHILDREN[0])
    found = extra.get(CHILDREN[1]) if isinstance(extra, Mapping) else None
    return found if isinstance(found, (list, tuple)) else ()


def _first(flag: str, key: str, version: str) -> str:
    """Which other releases have a key, in words; empty where none has."""
    known = versions()
    having = [other for other in known if key in _keys(other).get(flag, ())]
    if not having:
        return ""
    if known.index(having[-1]) < known.index(version):
        return f"; the last release with it is {having[-1]}"
    return f"; {having[0]} is the first release with it"


@cache
def _keys(version: str) -> Mapping[str, list[str]]:
    keys: Mapping[str, list[str]] = read_file(version, "inputs")["keys"]
    return keys
