"""KV008: an environment variable by a name of vLLM's that the release does not read."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from kvinspect.commands.removed_variables import REMOVED
from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.linting.subjects.place import PlaceSubject
from kvinspect.releases.data.catalogue import versions
from kvinspect.releases.data.duties import VARIABLES, names

ALIKE = 0.9
"""From which likeness on a name is taken for a slip, and not for one of the deployment's own."""


def check(subject: PlaceSubject) -> Iterator[Found]:
    """Variables that only other releases read, and names spelt nearly as one that this release reads."""
    known = names(subject.release.version)[VARIABLES]
    for entry in subject.env:
        name = entry.key.text
        if not name.startswith("VLLM_") or name in known or entry.key.opaque:
            continue
        why = _why(name, sorted(known))
        if why:
            yield Found(("env", name), f"vLLM {subject.release.version} ignores {name}; {why}", mark=entry.key.begins)


def _why(name: str, known: list[str]) -> str:
    """What became of a name, "" where it may be the deployment's own."""
    others = [version for version in versions() if name in names(version)[VARIABLES]]
    if others:
        return f"read by {', '.join(others)}"
    if name in REMOVED:
        return REMOVED[name] or "remove it"
    near = difflib.get_close_matches(name, known, 1, ALIKE)
    return f"did you mean {near[0]}?" if near else ""


RULE = Rule("KV008", "ignored-variable", WARNING, "an environment variable that the release ignores", check, "place")
