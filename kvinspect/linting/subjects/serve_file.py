"""What rules about `vllm serve --config` files look at: the keys as flags, and how their values were written.

The source is `FlexibleArgumentParser.load_config_file` and `parse_args` (0.25 to 0.28): a key becomes a flag, a list
several words, a mapping JSON, true the flag alone; false and an empty list leave it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.data.flags import Flags
from kvinspect.document.problem import Problem, nearest, shown
from kvinspect.document.source import Source
from kvinspect.releases.release import Release


class Entry(NamedTuple):
    """A key of the file: its value, how that was written (None where it came without a text), and the flag."""

    key: str
    value: Any
    written: str | None
    flag: Mapping[str, Any] | None


class ServeSubject:
    """A `vllm serve --config` file under one release."""

    def __init__(self, source: Source, release: Release, flags: Flags, surprises: tuple[Problem, ...]) -> None:
        self.source, self.release, self.flags = source, release, flags
        self.surprises = surprises
        """What the reader of the text stumbled over: keys that stand twice."""

    @property
    def entries(self) -> Iterator[Entry]:
        """The keys of the file in their order."""
        for key, value in self.source.value.items():
            yield Entry(key, value, self.source.written((key,)), self.flags.find(key))

    def value(self, name: str) -> Any:
        """The value of a flag, None where the file does not set it."""
        return next((e.value for e in self.entries if e.key.replace("_", "-") == name), None)

    @property
    def unknown_names(self) -> Iterator[Problem]:
        """Flags that name what the release does not have, a backend."""
        for entry in self.entries:
            names = entry.flag.get("names") if entry.flag else None
            if names and isinstance(entry.value, str) and entry.value.upper() not in map(str.upper, names):
                expected = f"a backend of vLLM {self.release.version}"
                found, near = shown(entry.value), nearest(entry.value.upper(), names)
                yield Problem((entry.key,), expected=expected, found=found, nearest=near, kind="unknown-backend")
