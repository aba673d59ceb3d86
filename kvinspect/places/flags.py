"""The flags of a place: which flag of a release each word or key is, and what value it has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from kvinspect.data import flags as flag_files
from kvinspect.data.catalogue import versions
from kvinspect.data.flags import Flags
from kvinspect.document.problem import Mark
from kvinspect.models.flag_names import is_flag, named
from kvinspect.places.fragment import Entry, Fragment, Word
from kvinspect.places.names import every_flag, name_of


class Argument(NamedTuple):
    """A flag, a key or the model of a place."""

    name: str
    """The release's name in full, without dashes in front; as it is written where no release has it."""
    written: str
    """How it is spelt."""
    mark: Mark
    value: str | bool
    """As it is written; True where there is none."""
    opaque: bool = False
    """Whether a variable decides the value."""
    default: str | None = None
    own: bool = False
    """Whether it is the wrapper's."""
    plain: Any = None
    """Of a mapping's value what the reader makes of it."""
    attached: bool = False
    """Whether the value stands behind `=` in the same word."""


class Arguments(NamedTuple):
    """What a place says."""

    model: Word | None
    """The model where it stands without a flag."""
    flags: tuple[Argument, ...]

    def find(self, name: str) -> Argument | None:
        """The last argument of a name."""
        return next((one for one in reversed(self.flags) if one.name == name and not one.own), None)


def read(fragment: Fragment, release: str | None) -> Arguments:
    """The arguments of a place as a release reads them, as the newest one where None is known."""
    known = [flag_files.read(version) for version in ([release] if release else []) + list(reversed(versions()))]
    own = {word.mark for word in fragment.own_flags}
    if fragment.entries:
        return Arguments(None, tuple(_of_entry(entry, known, own) for entry in fragment.entries))
    return _of_words(fragment.whole or fragment.words, known, own)


def _of_entry(entry: Entry, known: Sequence[Flags], own: set[Mark]) -> Argument:
    key, value = entry.key, entry.value
    head, dot, keys = key.text.partition(".")
    name = entry.name.replace("_", "-") if entry.name else name_of(head) + dot + keys
    said = value.text if value else True
    opaque = bool(value and value.opaque)
    return Argument(
        name,
        key.text,
        key.begins,
        said,
        opaque,
        value.default if value else None,
        key.mark in own,
        entry.nested,
    )


def _of_words(words: Sequence[Word], known: Sequence[Flags], own: set[Mark]) -> Arguments:
    left = list(reversed(words))
    model: Word | None = None
    found = []
    while left:
        word = left.pop()
        if _is_flag(word):
            found.append(_flag(word, left, known, word.mark in own))
        elif model is None and not found and word.text:
            model = word
    return Arguments(model, tuple(found))


def _is_flag(word: Word) -> bool:
    return is_flag(word.text) and re.match(r"--?[A-Za-z]", word.text) is not None


def _flag(word: Word, left: list[Word], known: Sequence[Flags], own: bool) -> Argument:
    """A flag with its value, the words of which are taken from those that are left."""
    written, equals, given = word.text.partition("=")
    name, attached = _name(written, known, own)
    facts = next((facts for flags in known if (facts := flags.find(name))), None)
    if equals:
        return Argument(name, written, word.begins, given, word.opaque, _behind(word.default), own, attached=True)
    if attached is not None:
        return Argument(name, word.text, word.begins, attached, word.opaque, None, own)
    if facts and facts["takes"] == "nothing" and "." not in name:
        return Argument(name, written, word.begins, True, own=own)
    if not left or _is_flag(left[-1]):
        return Argument(name, written, word.begins, True, own=own)
    taken = [left.pop()]
    while facts and facts["takes"] == "list" and "." not in name and left and not _is_flag(left[-1]):
        taken.append(left.pop())
    said = " ".join(one.text for one in taken)
    opaque = any(one.opaque for one in taken)
    default = taken[0].default if len(taken) == 1 else None
    return Argument(name, written, word.begins, said, opaque, default, own)


def _behind(default: str | None) -> str | None:
    return default.partition("=")[2] if default is not None else None


def _name(written: str, known: Sequence[Flags], own: bool) -> tuple[str, str | None]:
    """(the name in full, a value in the same word), of the first release that has it."""
    head, dot, keys = written.partition(".")
    if not own and name_of(head) not in every_flag():
        for flags in known:
            try:
                found = named(head, flags)
            except ValueError:
                break
            if flags.find(found.name):
                return found.name + dot + keys, found.attached
    return name_of(head) + dot + keys, None


def model_of(fragment: Fragment, arguments: Arguments) -> Word | None:
    """The model of a place: a word, a flag, a wrapper's flag, or what stands beside the arguments."""
    if arguments.model:
        return arguments.model
    said = arguments.find("model") or next((one for one in arguments.flags if one.own and one.name == "model-id"), None)
    if said and said.value is not True:
        return Word(str(said.value), said.mark, said.opaque, said.default)
    return fragment.model
