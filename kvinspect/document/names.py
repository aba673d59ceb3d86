"""Layer names with braces: `layers.{0..31}.attn` and `{q,k}_proj`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from kvinspect.document.limits import MAX_NAMES
from kvinspect.document.problem import Path, shown

_BRACES = re.compile(r"(\{[^{}]*\})")
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?")


class TooManyNames(ValueError):
    """A pattern that stands, with those before it, for more layers than a document may have; `path` leads to it."""

    path: Path = ()


def expand(name: str, limit: int = MAX_NAMES) -> tuple[str, ...]:
    """Every name that a pattern stands for, in order. Raises TooManyNames past `limit`.

    `{a..b}` runs over the integers with both ends, `{a..b..s}` in steps of s, `{x,y}` over the words; other braces
    stand for themselves.

    >>> expand("layers.{0..4..2}.{self,cross}")[:3]
    ('layers.0.self', 'layers.0.cross', 'layers.2.self')
    """
    if "{" not in name:
        return (name,)
    choices = _parsed(name)
    count = 1
    for words in choices:
        count *= len(words)
        if count > limit:
            raise TooManyNames(f"{shown(name)} expands to too many layers; a document has at most {MAX_NAMES}")
    return _written_out(name) if count <= FEW else tuple(_names(choices))


FEW = 4096
"""So many names of a pattern are kept: whoever reads a document asks for the same ones several times."""


@lru_cache(maxsize=64)
def _written_out(name: str) -> tuple[str, ...]:
    return tuple(_names(_parsed(name)))


def _names(choices: Sequence[Sequence[object]]) -> Iterator[str]:
    return ("".join(map(str, chosen)) for chosen in product(*choices))


@lru_cache(maxsize=64)
def _parsed(name: str) -> tuple[list[str] | range, ...]:
    return tuple(_choices(piece) for piece in _BRACES.split(name))


def _choices(piece: str) -> list[str] | range:
    if not (piece.startswith("{") and piece.endswith("}")):
        return [piece]
    body = piece[1:-1]
    bounds = _RANGE.fullmatch(body)
    if bounds:
        first, last = int(bounds[1]), int(bounds[2])
        step = abs(int(bounds[3] or 1)) or 1
        return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)
    return body.split(",") if "," in body else [piece]


class Expander:
    """Expands the names of one document, all together within the bound."""

    def __init__(self) -> None:
        self.left = MAX_NAMES

    def all(self, names: list[str], path: Path = ()) -> tuple[str, ...]:
        """The names that a list of patterns at a path stands for. Raises TooManyNames."""
        found: list[str] = []
        for name in names:
            try:
                expanded = expand(name, self.left)
            except TooManyNames as error:
                error.path = path
                raise
            self.left -= len(expanded)
            found.extend(expanded)
        return tuple(found)
