"""One configuration of a model's file, its values with the names and defaults of its model type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NoReturn, Self

from kvinspect.document.problem import DocumentError, Path, Problem, shown
from kvinspect.document.source import Source
from kvinspect.models.completions import COMPLETIONS
from kvinspect.models.model_types import FLAT, PLAIN, TEXT_PARTS, ModelType, model_type
from kvinspect.models.readers import Entries, Readers


class Fields(Readers):
    """One configuration of a model's file: the whole, the part of its language model, or a mapping in either.

    A field is looked up as written, else under its other name, else as the value of the field it follows, else as the
    model type's default. A `null` is no value, and keeps the default away.
    """

    def __init__(self, source: Source, written: Mapping[str, Any], path: Path = (), kind: ModelType = PLAIN) -> None:
        super().__init__()
        self._source, self._written, self.path, self._kind = source, written, path, kind
        self._rules = COMPLETIONS.get(kind.name, {})
        self._set: Mapping[str, Any] = {}
        self._ruled: dict[str, Any] = {}

    @classmethod
    def of(cls, source: Source) -> Self:
        """The whole of a file, a configuration of the model type that it names."""
        named = cls(source, source.value).word("model_type")
        return cls(source, source.value, (), model_type(named))

    @property
    def model_type(self) -> str:
        """The name of its configuration class, "" where none is given."""
        return self._kind.name

    @property
    def causal_architecture(self) -> str | None:
        """The architecture of the model type's language model."""
        return self._kind.causal

    @property
    def by_transformers(self) -> bool:
        """Whether transformers itself has a class for the model type."""
        return self._kind.base is not None

    @property
    def architectures(self) -> Sequence[str]:
        """The names of the model's classes, else the one that transformers has for its model type."""
        return self.words("architectures") or ([self._kind.base] if self._kind.base else [])

    @property
    def names(self) -> Sequence[str]:
        """The keys that are written, in their order."""
        return [name for name in self._written if isinstance(name, str)]

    @property
    def numbers(self) -> Mapping[str, int | float]:
        """The written fields that are numbers."""
        found = {name: self._written[name] for name in self.names}
        return {name: value for name, value in found.items() if type(value) in (int, float)}

    def is_written(self, name: str) -> bool:
        """Whether the file itself has a key."""
        return name in self._written

    @cached_property
    def by_type(self) -> Self:
        """The same fields without what the configuration class works out: what its rules go by."""
        other = type(self)(self._source, self._written, self.path, self._kind)
        other._rules = {}
        return other

    @cached_property
    def in_file(self) -> Self:
        """The same fields as the file has them, without other names and defaults."""
        return type(self)(self._source, self._written, self.path)

    def having(self, **values: Any) -> Self:
        """The same configuration with some fields set, in nested ones as well, as the engine's own rules set them."""
        return type(self)(self._source, self._written, self.path, self._kind)._with({**self._set, **values})

    def _with(self, values: Mapping[str, Any]) -> Self:
        self._set = values
        return self

    def _raw(self, name: str) -> Any:
        if name in self._set:
            return self._set[name]
        if name not in self._rules:
            return self._plain(name)
        if name not in self._ruled:
            self._ruled[name] = self._rules[name](self.by_type)
        return self._ruled[name]

    def _plain(self, name: str) -> Any:
        """The value that the file or the model type's defaults give, None where none is given."""
        keys = self._keys(name)
        for key in keys:
            if self._written.get(key) is not None:
                return self._written[key]
        real = self._kind.names.get(name, name)
        if real in self._kind.copies:
            return self._plain(self._kind.copies[real])
        if any(key in self._written for key in keys):
            return None
        return self._kind.values.get(real, self._kind.values.get(name))

    def _keys(self, name: str) -> Sequence[str]:
        """The keys under which a field may stand."""
        real = self._kind.names.get(name, name)
        return (name, real, next((usual for usual, own in self._kind.names.items() if own == real), real))

    def _key(self, name: str) -> str:
        """The key under which a field is written, its own name where it is not."""
        keys = self._keys(name)
        filled = (key for key in keys if self._written.get(key) is not None)
        return next(filled, next((key for key in keys if key in self._written), name))

    def _inner(self, name: str, value: Mapping[str, Any], index: int | None = None) -> Self:
        at = () if index is None else (index,)
        return type(self)(self._source, value, (*self.path, self._key(name), *at))

    def layer_types(self) -> Sequence[str] | None:
        """`layer_types` as written, one word a layer, None where there are none."""
        return self.words("layer_types", self.layers) or None

    def part(self, *names: str) -> Self | None:
        """The nested configuration under the first of several names, made of the model type's default if need be."""
        for name in names:
            value = self._written.get(name)
            if isinstance(value, Mapping):
                return self._nested(value, (*self.path, name), name)
            if name in self._kind.parts:
                if value is not None:
                    self.fail(name, "a mapping", value)
                return self._missing_part(name)
        return None

    def _nested(self, value: Mapping[str, Any], path: Path, name: str) -> Self:
        """A nested configuration: of the type that it names, else of the one that this type has there."""
        named = type(self)(self._source, value, path).word("model_type")
        kind = model_type(named or self._kind.parts.get(name, ""))
        filled = {**kind.values, **self._kind.filled.get(name, {})}
        return type(self)(self._source, value, path, kind._replace(values=filled))._with(self._set)

    def _missing_part(self, name: str) -> Self:
        """A nested configuration that the file leaves out: its type's defaults, or what older files say at the top."""
        if self.model_type not in FLAT:
            return self._nested({}, (*self.path, name), name)
        own = {key: value for key, value in self._written.items() if key != "model_type"}
        return self._nested(own, self.path, name)

    @cached_property
    def text(self) -> Self:
        """The language model's part, the whole where there is none (`get_hf_text_config`).

        A type whose part is left out and would be of a type that was met before has none: such defaults go round.
        """
        found, met = self, {self.model_type}
        while (part := found.part(*TEXT_PARTS)) is not None:
            if not part.is_there and part.model_type in met:
                break
            met.add(part.model_type)
            found = part
        return found

    @property
    def is_there(self) -> bool:
        """Whether the file has anything of this configuration."""
        return bool(self._written)

    def fail(
        self, name: str, expected: str, found: object, *, index: int | None = None, hint: str = "", near: str = ""
    ) -> NoReturn:
        """Raises DocumentError for a field that cannot be used."""
        path = (*self.path, self._key(name), *(() if index is None else (index,)))
        if found is None and not any(key in self._written for key in self._keys(name)):
            problem = Problem(path, message="is missing", expected=expected, hint=hint, kind="missing")
        else:
            text = str(found) if isinstance(found, Entries) else shown(found)
            problem = Problem(path, expected=expected, found=text, hint=hint, nearest=near)
        raise DocumentError([self._source.place(problem)])

    def refuse(self, name: str, message: str, hint: str = "", kind: str = "stopped") -> NoReturn:
        """Raises DocumentError for values that the engine would not start with."""
        problem = Problem((*self.path, self._key(name)), message=message, hint=hint, kind=kind)
        raise DocumentError([self._source.place(problem)])
