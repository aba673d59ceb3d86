"""What rules look at of a place in a file: its flags as a serve file has keys, each with the mark of its word."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.data.flags import Flags
from kvinspect.document.problem import Mark, Path
from kvinspect.document.source import Source
from kvinspect.linting.subjects.serve_file import Entry, ServeSubject
from kvinspect.models.arguments import every_argument
from kvinspect.places import fragment as places
from kvinspect.places.flags import Argument, Arguments, read
from kvinspect.places.fragment import Fragment
from kvinspect.releases.release import Release


class _Marks(NamedTuple):
    """Where the flags of a place stand in its file."""

    marks: Mapping[str, Mark]
    begins: Mark

    def written(self, path: Path) -> str | None:
        """None: rules read the words as the program receives them."""
        return None

    def locate(self, path: Path, at_key: bool) -> Mark | None:
        """The mark of a flag, else of the place."""
        return self.marks.get(str(path[0]) if path else "", self.begins)


class PlaceSubject(ServeSubject):
    """A place under one release."""

    def __init__(self, fragment: Fragment, source: Source, release: Release, flags: Flags) -> None:
        self.fragment = fragment
        self.arguments: Arguments = read(fragment, release.version)
        said = {_key(one, fragment): one for one in self.arguments.flags if not one.own}
        self.by_key = said
        marks = _Marks({key: one.mark for key, one in said.items()}, fragment.begins)
        value = {key: _value(one) if fragment.entries else one.value for key, one in said.items()}
        super().__init__(source._replace(value=value, positions=marks), release, flags, ())

    @property
    def env(self) -> tuple[places.Entry, ...]:
        """The environment variables that count for the place."""
        return self.fragment.env

    @property
    def entries(self) -> Iterator[Entry]:
        """The flags of the place; of one whose value a variable decides, the name alone."""
        for entry in super().entries:
            if self.fragment.entries and entry.flag and not _is_argument(entry.key, entry.flag):
                entry = entry._replace(flag=None)
            yield entry._replace(value="") if self.by_key[entry.key].opaque else entry


def _key(argument: Argument, fragment: Fragment) -> str:
    """A flag by its full name; an argument of a mapping or a call as it is written."""
    is_own_name = argument.name.replace("-", "_") == argument.written
    return argument.written if fragment.entries and is_own_name else argument.name


def _value(argument: Argument) -> Any:
    """The value of a key or of an argument of a call, as its language reads it."""
    if argument.plain is not None:
        return argument.plain
    return {"True": True, "False": False}.get(str(argument.value), argument.value)


def _is_argument(key: str, flag: Mapping[str, Any]) -> bool:
    """Whether the engine's class takes a flag's name, and not only the parser of `vllm serve`."""
    return "stands_for" not in flag or key.partition(".")[0].replace("-", "_") in every_argument()
