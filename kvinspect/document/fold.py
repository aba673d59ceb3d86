"""Many alike names as one pattern: `layers.0.attn` to `layers.31.attn` as `layers.{0..31}.attn`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_NUMBER = re.compile(r"(?<![0-9])(0|[1-9][0-9]{0,8})(?![0-9])")


def fold_names(names: Sequence[str]) -> list[str]:
    """Patterns that stand for the names, each name once; expanding them gives the names back.

    >>> fold_names(["l.0.a", "l.1.a", "l.2.a", "x"])
    ['l.{0..2}.a', 'x']
    >>> fold_names(["l.1.a.0", "l.5.a.0", "l.9.a.0"])
    ['l.{1..9..4}.a.0']
    """
    families: dict[tuple[str, ...], list[tuple[int, ...]]] = {}
    for name in dict.fromkeys(names):
        pieces = _NUMBER.split(name)
        families.setdefault(tuple(pieces[::2]), []).append(tuple(map(int, pieces[1::2])))
    return [pattern for words, numbers in families.items() for pattern in _patterns(words, numbers)]


def _patterns(words: tuple[str, ...], numbers: list[tuple[int, ...]]) -> list[str]:
    """Patterns of one family: the same words around numbers, of which the one that varies most is folded."""
    if len(numbers) == 1:
        return [_joined(words, [str(n) for n in numbers[0]])]
    counts = [len(set(column)) for column in zip(*numbers, strict=True)]
    varying = counts.index(max(counts))
    rest: dict[tuple[int, ...], list[int]] = {}
    for row in numbers:
        rest.setdefault((*row[:varying], *row[varying + 1 :]), []).append(row[varying])
    out = []
    for fixed, values in rest.items():
        texts = [str(n) for n in fixed]
        out.append(_joined(words, [*texts[:varying], _range(sorted(values)), *texts[varying:]]))
    return out


def _range(values: list[int]) -> str:
    if len(values) == 1:
        return str(values[0])
    step = values[1] - values[0]
    if all(b - a == step for a, b in pairwise(values)):
        if len(values) == 2 and step > 1:
            return f"{{{values[0]},{values[1]}}}"
        return f"{{{values[0]}..{values[-1]}}}" if step == 1 else f"{{{values[0]}..{values[-1]}..{step}}}"
    return "{" + ",".join(map(str, values)) + "}"


def _joined(words: tuple[str, ...], numbers: list[str]) -> str:
    return "".join(word + number for word, number in zip(words, [*numbers, ""], strict=True))
