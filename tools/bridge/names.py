"""Layer names of documents: `{0..3}` and `{x,y}` written out."""

import itertools
import re

BOUND = 100_000


def expand(name):
    """Every name that one with braces stands for."""
    parts, count = [], 1
    for piece in re.split(r"(\{[^{}]*\})", name):
        words = words_of(piece)
        count *= len(words)
        if count > BOUND:
            raise ValueError("expansion too large")
        parts.append(words)
    return ["".join(part) for part in itertools.product(*parts)]


def words_of(piece):
    """The words that a piece in braces stands for; any other piece stands for itself."""
    body = piece[1:-1] if piece.startswith("{") and piece.endswith("}") else ""
    numbers = re.fullmatch(r"(-?\d+)\.\.(-?\d+)(?:\.\.(-?\d+))?", body)
    if numbers:
        first, last, step = int(numbers[1]), int(numbers[2]), abs(int(numbers[3] or 1)) or 1
        return [str(i) for i in (range(first, last + 1, step) if first <= last else range(first, last - 1, -step))]
    return body.split(",") if "," in body else [piece]


def expand_all(names):
    """The names of several, in order."""
    return [one for name in names for one in expand(name)]
