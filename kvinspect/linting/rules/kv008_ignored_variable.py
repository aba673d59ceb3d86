"""KV008: an environment variable by a name of vLLM's that the release does not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvinspect.linting.rule import WARNING, Found, Rule
from kvinspect.models.ignored_variables import is_ignored, why_ignored

if TYPE_CHECKING:
    from kvinspect.linting.subjects.place import PlaceSubject


def check(subject: PlaceSubject) -> Iterator[Found]:
    """Variables that only other releases read, and names spelt nearly as one that this release reads."""
    version = subject.release.version
    for entry in subject.env:
        name = entry.key.text
        if entry.key.opaque or not is_ignored(name, version):
            continue
        why = why_ignored(name, version)
        if why:
            yield Found(("env", name), f"vLLM {version} ignores {name}; {why}", mark=entry.key.begins)


RULE = Rule("KV008", "ignored-variable", WARNING, "an environment variable that the release ignores", check, "place")
