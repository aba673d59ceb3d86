"""The flags of `vllm serve` that each release has, `flags.json`, written by `tools/flags.py`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from kvinspect.data.catalogue import read_file


class Flags(NamedTuple):
    """The flags of a release: what each takes (`nothing`, `int`, `float`, `size`, `list`, `json`, `value`).

    `optional` ones may stand without a value, and `auto` ones take that word as well. What the parser lets through and
    the engine's configuration refuses: `gt`, `ge`, `lt`, `le` are bounds, `words` the only words, `names` in any case.
    An alias says which flag it `stands_for`.
    """

    release: str
    by_name: Mapping[str, Mapping[str, Any]]
    """Without the dashes in front, words joined by dashes; aliases too."""
    drops_false: bool
    """Whether a config file's `key: false` is dropped, or read as `--no-key`."""

    def find(self, key: str) -> Mapping[str, Any] | None:
        """The flag that a key of a config file names: with dashes or underscores, dotted, or `no-` before it."""
        name = key.partition(".")[0].replace("_", "-")
        found = self.by_name.get(name)
        if found is None and name.startswith("no-"):
            positive = self.by_name.get(name.removeprefix("no-"))
            return positive if positive and positive.get("negates") else None
        return found


@cache
def read(version: str) -> Flags:
    """The flags of a release that the catalogue knows."""
    found = read_file(version, "flags")
    by_name = {name.removeprefix("--"): facts for name, facts in found["flags"].items()}
    for name, facts in list(by_name.items()):
        by_name.update((alias.removeprefix("--"), {**facts, "stands_for": name}) for alias in facts.get("aliases", ()))
    return Flags(found["release"], by_name, found["false"] == "dropped")
