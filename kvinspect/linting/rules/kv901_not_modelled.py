"""KV901: a key of a `vllm serve --config` file that touches the cache, and that kvinspect does not model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvinspect.linting.rule import NOTE, Found, Rule
from kvinspect.linting.subjects.serve_file import ServeSubject
from kvinspect.releases.data import duties


def check(subject: ServeSubject) -> Iterator[Found]:
    """Keys whose value is not modelled, and keys within those that take JSON; estimates are another matter."""
    known = duties.read(subject.release.version)
    for entry in subject.entries:
        name = (entry.flag or {}).get("stands_for", entry.key.replace("_", "-"))
        yield from _found(known[duties.FLAGS], name, entry.value, (entry.key,))
        if isinstance(entry.value, Mapping):
            for key, value in entry.value.items():
                yield from _found(known[duties.KEYS], f"{name}.{key}", value, (entry.key, key))


def _found(rows: Mapping[str, duties.Duty], name: str, value: Any, path: tuple[str, ...]) -> Iterator[Found]:
    duty = rows.get(name)
    if duty is not None and duty.touches(value) and not duty.estimate:
        yield Found(path, f"--{name} is not modelled: {duty.says}; no number takes it into account", at_key=True)


RULE = Rule("KV901", "not-modelled", NOTE, "a setting that affects the KV cache and is not modelled", check, "command")
