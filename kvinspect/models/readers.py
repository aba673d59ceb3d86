"""The typed readers of a configuration: the only way in which its values leave the file.

A value is taken as Python and the engine take it (a whole float is a number, 1 is true, `null` is no value); any other
raises a DocumentError with the key, what was expected and what was found. Every number has a bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Self

from kvinspect.document.limits import MAX_FACTOR, MAX_INT, MAX_LAYERS, MAX_SIZE
from kvinspect.document.numbers import counted
from kvinspect.document.problem import nearest
from kvinspect.document.words import DTYPE_BYTES, dtype_word

_SHORT = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}
"""Spellings of dtypes that files use beside torch's."""


class Readers(ABC):
    """Reads single fields; `_raw` looks a field up, and no other module asks it."""

    def __init__(self) -> None:
        self._lists: dict[tuple[str, int | None, Entry], Sequence[Any]] = {}
        """Lists that were read once: families ask again for every layer."""

    @abstractmethod
    def _raw(self, name: str) -> Any:
        """The value of a field as it is, None where none is given."""

    @abstractmethod
    def _inner(self, name: str, value: Mapping[str, Any], index: int | None = None) -> Self:
        """The fields of a mapping under a key, or of one in the list under it."""

    @abstractmethod
    def fail(
        self, name: str, expected: str, found: object, *, index: int | None = None, hint: str = "", near: str = ""
    ) -> NoReturn:
        """Raise a DocumentError for a field that cannot be used."""

    @property
    @abstractmethod
    def in_file(self) -> Self:
        """The same fields as the file has them, without other names and defaults."""

    @property
    def layers(self) -> int:
        """`num_hidden_layers`."""
        return self.count("num_hidden_layers", most=MAX_LAYERS)

    @property
    def hidden_size(self) -> int:
        """`hidden_size`, in elements."""
        return self.count("hidden_size")

    @property
    def heads(self) -> int:
        """`num_attention_heads` of the whole model."""
        return self.count("num_attention_heads")

    @property
    def kv_heads(self) -> int:
        """`num_key_value_heads` of the whole model; where it is absent, the number of query heads."""
        return self.count("num_key_value_heads", self.heads)

    @property
    def head_dim(self) -> int:
        """`head_dim` in elements, else the hidden size shared out to the heads."""
        return self.maybe_count("head_dim") or self.shared_out()

    def shared_out(self) -> int:
        """The hidden size shared out to the heads. Raises DocumentError where less than an element is left."""
        if self.hidden_size < self.heads:
            self.fail("num_attention_heads", f"at most hidden_size ({self.hidden_size}) heads", self.heads)
        return self.hidden_size // self.heads

    def __contains__(self, name: str) -> bool:
        return self._raw(name) is not None

    def count(self, name: str, default: int | None = None, least: int = 1, most: int = MAX_SIZE) -> int:
        """A field that counts something. Raises DocumentError where it is no whole number from `least` to `most`."""
        value = self._raw(name)
        return self._counted(name, default if value is None else value, least, most)

    def maybe_count(self, name: str, least: int = 1, most: int = MAX_SIZE) -> int | None:
        """A field that counts something, or None where none is given."""
        return None if name not in self else self.count(name, least=least, most=most)

    def first_count(self, *names: str, least: int = 1) -> int | None:
        """The first of several fields that is there."""
        return next((self.count(name, least=least) for name in names if name in self), None)

    def repeats(self, name: str, default: int | None = None, least: int = 1) -> int:
        """How often layers are made: as many as a model may have."""
        return self.count(name, default, least, MAX_LAYERS)

    def tokens(self, name: str, default: int | None = None, least: int = 1) -> int:
        """A length of a context or a window, which may be as good as endless."""
        return self.count(name, default, least, MAX_INT)

    def maybe_tokens(self, name: str, least: int = 1) -> int | None:
        """A length of a context or a window, or None where none is given."""
        return self.maybe_count(name, least, MAX_INT)

    def number(self, name: str, default: float) -> float:
        """A field that is a number above 0."""
        value = self._raw(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < MAX_FACTOR:
            self.fail(name, f"a number above 0 and below {MAX_FACTOR:.0e}", value)
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """Whether a field holds, as Python takes a value for true or false."""
        value = self._raw(name)
        if isinstance(value, (Mapping, list, tuple)):
            self.fail(name, "true or false", value)
        return default if value is None else bool(value)

    def word(self, name: str, default: str = "", choices: Sequence[str] = ()) -> str:
        """A field that is a word, one of `choices` where there are any."""
        value = self._raw(name)
        value = default if value is None else value
        if not isinstance(value, str):
            self.fail(name, "a word", value)
        if choices and value not in choices:
            self.fail(name, "one of " + ", ".join(choices), value, near=nearest(value, choices))
        return value

    def dtype(self, name: str, default: str, words: Sequence[str] = tuple(DTYPE_BYTES)) -> str:
        """A field that is the name of a dtype, in torch's own spellings or one of `words`."""
        value = self._raw(name)
        if value is not None and not isinstance(value, str):
            self.fail(name, "the name of a dtype", value)
        written = self.word(name, default)
        word = dtype_word(written)
        found: str = _SHORT.get(word, word)
        if found not in words:
            self.fail(name, "the name of a dtype", written, near=nearest(found, words))
        return found

    def is_word(self, name: str, word: str | None = None) -> bool:
        """Whether a field is a word at all, or the given one, where it may be something else."""
        value = self._raw(name)
        return isinstance(value, str) and word in (None, value)

    def is_list(self, name: str) -> bool:
        """Whether a field is a list, where it may be something else."""
        return isinstance(self._raw(name), (list, tuple))

    def is_mapping(self, name: str) -> bool:
        """Whether a field is a mapping, where it may be something else."""
        return isinstance(self._raw(name), Mapping)

    def version(self, name: str) -> str:
        """A field that is a version, as a number or as a word; empty where none is given."""
        value = self._raw(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (str, int, float))):
            self.fail(name, "a version", value)
        return "" if value is None else value if isinstance(value, str) else str(value)

    def words(self, name: str, length: int | None = None) -> Sequence[str]:
        """A list of words, empty where none is given. Raises DocumentError where it is shorter than `length`."""
        return self._list(name, length, WORD)

    def letters(self, name: str) -> Sequence[str]:
        """A word whose letters count, or a list of words."""
        return self.word(name) if self.is_word(name) else self.words(name)

    def counts(self, name: str, length: int | None = None, least: int = 0, most: int = MAX_SIZE) -> Sequence[int]:
        """A list of counts, empty where none is given. Raises DocumentError where it is shorter than `length`."""
        return self._list(name, length, _number(least, most))

    def lists(self, name: str, length: int, least: int = 0) -> Sequence[Sequence[int]]:
        """A list of `length` lists of whole numbers or more, none of them empty."""
        rows = self._list(name, length, LIST)
        found = [[number for value in row if (number := whole(value)) is not None and number >= least] for row in rows]
        wrong = next((i for i, row in enumerate(rows) if not row or len(found[i]) < len(row)), None)
        if wrong is not None or not rows:
            expected = f"a list of lists of whole numbers from {least} on"
            self.fail(name, expected, rows[wrong] if wrong is not None else None, index=wrong)
        return found

    def maybe_counts(
        self, name: str, length: int | None = None, least: int = 0, most: int = MAX_INT
    ) -> Sequence[int | None]:
        """A list of counts with a null for none. Raises DocumentError where it is shorter than `length`."""
        return self._list(name, length, _number(least, most, nulls=True))

    def turns(self, name: str) -> Sequence[int | None]:
        """Windows that layers have in turn, a single one for all; empty where none is given."""
        return self.maybe_counts(name) if self.is_list(name) or name not in self else [self.tokens(name, least=0)]

    def mapping(self, name: str) -> Self:
        """The fields of a mapping that has no configuration class; none where none is given."""
        value = self._raw(name)
        value = {} if value is None else value
        if not isinstance(value, Mapping):
            self.fail(name, "a mapping", value)
        return self._inner(name, value)

    def mappings(self, name: str, length: int | None = None) -> Sequence[Self]:
        """The fields of each mapping in a list."""
        return [self._inner(name, value, index) for index, value in enumerate(self._list(name, length, MAPPING))]

    def _counted(self, name: str, value: object, least: int, most: int) -> int:
        found = whole(value)
        if found is None or not least <= found <= most:
            bound = f" up to {most}" if found is not None and found > most else ""
            self.fail(name, f"a whole number from {least} on{bound}", value)
        return found

    def _list(self, name: str, length: int | None, entry: Entry) -> Sequence[Any]:
        key = (name, length, entry)
        if key not in self._lists:
            self._lists[key] = self._read_list(name, length, entry)
        return self._lists[key]

    def _read_list(self, name: str, length: int | None, entry: Entry) -> Sequence[Any]:
        values = self._raw(name)
        if values is None:
            return ()
        if not isinstance(values, (list, tuple)):
            self.fail(name, f"a list of {entry.plural}", values)
        if length is not None and values and len(values) < length:
            self.fail(name, f"a list of {counted(length, 'entry')}, one per layer", Entries(len(values)))
        return [self._entry(name, index, entry, value) for index, value in enumerate(values)]

    def _entry(self, name: str, index: int, entry: Entry, value: object) -> Any:
        found = entry.read(value)
        if found is None and not (value is None and entry.nulls):
            self.fail(name, entry.single, value, index=index)
        return found


class Entry(NamedTuple):
    """What the entries of a list are: words, mappings, or numbers from `least` to `most`."""

    single: str
    plural: str
    type: type | tuple[type, ...] | None = None
    least: int = 0
    most: int = 0
    nulls: bool = False

    def read(self, value: object) -> Any:
        """The entry, None where it is none."""
        if self.type is not None:
            return value if isinstance(value, self.type) else None
        found = whole(value)
        return found if found is not None and self.least <= found <= self.most else None


WORD = Entry("a word", "words", str)
MAPPING = Entry("a mapping", "mappings", Mapping)
LIST = Entry("a list", "lists", (list, tuple))


def _number(least: int, most: int, nulls: bool = False) -> Entry:
    bound = f" up to {most}" if most != MAX_INT else ""
    other = " or null" if nulls else ""
    return Entry(f"a whole number from {least} on{bound}{other}", "whole numbers", None, least, most, nulls)


class Entries(NamedTuple):
    """What a message says of a list of the wrong length."""

    length: int

    def __str__(self) -> str:
        return counted(self.length, "entry")


def whole(value: object) -> int | None:
    """A whole number, as Python counts with it; None for what is none. Truth values are none."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if type(value) is int else None
