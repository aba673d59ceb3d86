"""KV901: a flag, variable or draft that touches the cache, and that kvinspect does not model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kvinspect.data import duties
from kvinspect.linting.rule import NOTE, Found, Rule

if TYPE_CHECKING:
    from kvinspect.linting.subjects.model_config import ModelSubject
    from kvinspect.linting.subjects.serve_file import ServeSubject


def check(subject: ServeSubject) -> Iterator[Found]:
    """Keys whose value is not modelled, and keys within those that take JSON; estimates are another matter."""
    known = duties.read(subject.release.version)
    for entry in subject.entries:
        flag, _, key = entry.key.partition(".")
        name = (entry.flag or {}).get("stands_for", flag.replace("_", "-"))
        if key:
            yield from _found(known[duties.KEYS], f"{name}.{key.replace('-', '_')}", entry.value, (entry.key,))
            continue
        yield from _found(known[duties.FLAGS], name, entry.value, (entry.key,))
        for inner, value in _mapping(entry.value).items():
            yield from _found(known[duties.KEYS], f"{name}.{inner}", value, (entry.key, inner))


def _mapping(value: Any) -> Mapping[str, Any]:
    """The keys of a value, which a command line has as JSON text; none where it has no keys."""
    if isinstance(value, str) and value.startswith("{"):
        with suppress(ValueError, RecursionError):
            value = json.loads(value)
    return value if isinstance(value, Mapping) else {}


def _found(rows: Mapping[str, duties.Duty], name: str, value: Any, path: tuple[str, ...]) -> Iterator[Found]:
    duty = rows.get(name)
    if duty is not None and duty.touches(value) and not duty.estimate:
        yield Found(path, f"--{name} is not modelled: {duty.says}; no number takes it into account", at_key=True)


def check_model(subject: ModelSubject) -> Iterator[Found]:
    """What only the model tells: layers of a draft that are left out, variables, and what an estimate leaves out."""
    known = duties.read(subject.release)
    for one in subject.left_out:
        name = one.name.removeprefix("--")
        duty = known[duties.KEYS if "." in name else duties.FLAGS].get(name)
        if duty is None or duty.kind != duties.NOT_MODELLED or duty.estimate:
            path = (name.partition(".")[0].replace("-", "_"),)
            yield Found(path, f"{one.name}: no number takes into account {one.what}", at_key=True)


RULE = Rule(
    "KV901",
    "not-modelled",
    NOTE,
    "a setting that affects the KV cache and is not modelled",
    check,
    "command",
    {"model": check_model},
)
