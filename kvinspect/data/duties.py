"""What a release does with each flag, variable and key that it takes: `duties.json`, kept by hand beside the releases.

A name decides something that kvinspect models, or touches neither cache, layout, graphs nor start-up, or touches them
and is not modelled. One table holds all releases, and `changed` what a release and those after it do otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from kvinspect.data import catalogue

FLAGS, VARIABLES, KEYS = "flags", "variables", "keys"
"""The rooms of the table: flags without their dashes, environment variables, and `flag.key` of flags that take JSON."""

MODELLED, ACCEPTED, NOT_MODELLED = "modelled", "accepted", "not_modelled"


class Duty(NamedTuple):
    """The class of a name; of what is not modelled, what is left out and for which values.

    `only` and `unless` are values, None for all. An `estimate` counts only where the memory is estimated.
    """

    kind: str
    says: str = ""
    only: tuple[Any, ...] | None = None
    unless: tuple[Any, ...] = ()
    estimate: bool = False

    def touches(self, value: Any) -> bool:
        """Whether a value of the name is one that is not modelled."""
        words = [_word(value)]
        if self.kind != NOT_MODELLED or words[0] in ("", "none", "false", *map(_word, self.unless)):
            return False
        return self.only is None or words[0] in map(_word, self.only)


def _word(value: Any) -> str:
    return str(value).strip().lower()


@cache
def read(version: str) -> Mapping[str, Mapping[str, Duty]]:
    """Room → name → its duty in a release, for the names of all releases."""
    written = json.loads((catalogue.FOLDER / "duties.json").read_text(encoding="utf-8"))
    changed = written.pop("changed")
    found = {room: dict(_duties(classes)) for room, classes in written.items()}
    known = catalogue.versions()
    for since in known[: known.index(version) + 1]:
        for room, classes in changed.get(since, {}).items():
            found[room].update(_duties(classes))
    return found


def _duties(classes: Mapping[str, Any]) -> Iterator[tuple[str, Duty]]:
    for kind in (MODELLED, ACCEPTED):
        yield from ((name, Duty(kind)) for name in classes.get(kind, ()))
    for name, row in classes.get(NOT_MODELLED, {}).items():
        only = tuple(row["only"]) if "only" in row else None
        yield name, Duty(NOT_MODELLED, row["says"], only, tuple(row.get("unless", ())), row.get("estimate", False))


@cache
def names(version: str) -> Mapping[str, frozenset[str]]:
    """Room → the names that a release has."""
    flags = catalogue.read_file(version, "flags")["flags"]
    inputs = catalogue.read_file(version, "inputs")
    keys = frozenset(f"{flag}.{key}" for flag, own in inputs["keys"].items() for key in own)
    return {
        FLAGS: frozenset(name.removeprefix("--") for name in flags),
        VARIABLES: frozenset(inputs["variables"]),
        KEYS: keys,
    }
