"""What every mapping of a document has in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import MISSING, Field, dataclass, field
from typing import Any, ClassVar, TypeVar, dataclass_transform

from kvinspect.document.frozen import frozen

Made = TypeVar("Made")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def entry(cls: type[Made]) -> type[Made]:
    """Make a dataclass of a class of entries, with the methods of `Entry` in place of generated ones.

    A document has thirty such classes, and Python takes longer to compile methods for each than to read the document.
    """
    return dataclass(slots=True, kw_only=True, eq=False, repr=False, init=False)(cls)


class Entry:
    """A mapping of a document; a key that its class does not name is an error. Two that say the same are equal."""

    __slots__ = ()
    __pydantic_config__: ClassVar[dict[str, Any]] = {"extra": "forbid"}

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __init__(self, **said: Any) -> None:
        """An entry that says these things. Raises TypeError for a key that it has not, or that is missing."""
        for name, one in self.__dataclass_fields__.items():
            setattr(self, name, said.pop(name) if name in said else _default(type(self), one))
        if said:
            raise TypeError(f"{type(self).__name__} has no field {next(iter(said))!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.said == other.said if isinstance(other, Entry) else NotImplemented

    def __hash__(self) -> int:
        return hash((type(self).__name__, frozen(self.said)))

    @property
    def said(self) -> dict[str, Any]:
        """Key → what it says."""
        names: Iterable[str] = self.__slots__
        return {name: getattr(self, name) for name in names}


def _default(cls: type, one: Field[Any]) -> Any:
    """What a field holds where nothing is said. Raises TypeError for one that has to be said."""
    if one.default is not MISSING:
        return one.default
    if one.default_factory is not MISSING:
        return one.default_factory()
    raise TypeError(f"{cls.__name__} needs {one.name!r}")
