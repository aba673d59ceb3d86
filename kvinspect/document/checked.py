"""The arguments of a public function held against its annotations, in one place, before it does anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from math import isfinite
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from kvinspect.document.limits import MAX_INT

P = ParamSpec("P")
R = TypeVar("R")


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """The function, which raises TypeError for an argument of a wrong type and ValueError for an impossible one."""
    names = function.__code__.co_varnames
    kinds = {name: _atoms(text) for name, text in function.__annotations__.items()}

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in (*zip(names, args, strict=False), *kwargs.items()):
            if name in kinds:
                _check(f"{function.__name__}: {name}", kinds[name], value)
        return function(*args, **kwargs)

    call.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n    {RAISES}\n    "
    return call


RAISES = (
    "Raises TypeError for an argument of a wrong type and ValueError for an impossible one, before anything is done."
)
"""Said of every function that is checked, at the end of its docstring."""


def _atoms(annotation: object) -> tuple[str, ...]:
    """The types that an annotation, which is text, allows."""
    return tuple(part.partition("[")[0].rpartition(".")[2] for part in str(annotation).split(" | "))


def _check(what: str, atoms: tuple[str, ...], value: object) -> None:
    if not any(_is(atom, value) for atom in atoms):
        allowed = " or ".join(_PHRASES.get(atom, atom) for atom in atoms)
        raise TypeError(f"{what} is {allowed}, not {type(value).__name__}")
    if isinstance(value, (int, float)) and not (isfinite(value) if isinstance(value, float) else abs(value) <= MAX_INT):
        raise ValueError(f"{what} is a finite number of at most {MAX_INT}")
    texts = value if isinstance(value, (list, tuple)) else (value,)
    if not all(_is_name(str(text)) for text in texts if isinstance(text, (str, Path))):
        raise ValueError(f"{what} holds a character that no encoding can write")


def _is(atom: str, value: object) -> bool:
    if atom in _TYPES:
        return isinstance(value, _TYPES[atom]) and (atom == "bool" or not isinstance(value, bool))
    if atom == "Sequence":
        return isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value)
    if atom == "Progress":
        return callable(value)
    names = ("Document",) if atom == "Origin" else (atom,)
    # By name, so that no call imports a class that it has no use for.
    known = any(kind.__name__ in names for kind in type(value).__mro__)
    return known or (atom == "Origin" and isinstance(value, (str, Path, Mapping)))


def _is_name(text: str) -> bool:
    """Whether text can be a name; the bytes of a file's name that are no UTF-8 come as surrogates."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


_TYPES: Mapping[str, Any] = {
    "str": str,
    "bool": bool,
    "int": int,
    "float": (int, float),
    "Path": Path,
    "Mapping": Mapping,
    "None": type(None),
}
_PHRASES = {
    "str": "text",
    "bool": "True or False",
    "int": "a whole number",
    "float": "a number",
    "Path": "a path",
    "Mapping": "a mapping",
    "Sequence": "a list of texts",
    "Progress": "a function",
    "Origin": "a path, a mapping or what was loaded",
}
