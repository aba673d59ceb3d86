"""Whole numbers as people write them: on vLLM's command line, and with a noun in a sentence."""

from __future__ import annotations

import re

_HUMAN = re.compile(r"([0-9]{1,18})(\.[0-9]{1,9})?([kKmMgGtT]?)")
_DECIMAL = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def human_number(text: str) -> int:
    """A number as vLLM's command line reads it: `1k` is a thousand, `1K` is 1024. Raises ValueError.

    >>> human_number("25.6k"), human_number("128K")
    (25600, 131072)
    """
    match = _HUMAN.fullmatch(text.strip())
    if not match or (match[2] and not match[3].islower()):
        raise ValueError("a whole number, or one such as 32k or 32K")
    unit = _DECIMAL.get(match[3]) or _BINARY.get(match[3]) or 1
    fraction = match[2] or ".0"
    return int(match[1]) * unit + int(fraction[1:]) * unit // int("1" + "0" * (len(fraction) - 1))


def counted(count: int, word: str, form: str = "") -> str:
    """A number with its noun; `form` is how the number is written, `,` for thousands.

    >>> counted(1, "layer"), counted(2000, "layer", ","), counted(2, "entry")
    ('1 layer', '2,000 layers', '2 entries')
    """
    several = f"{word[:-1]}ies" if word.endswith("ry") else f"{word}s"
    return f"{count:{form}} {word if count == 1 else several}"


def ranged(low: float, high: float) -> str:
    """A range that is estimated, with no more digits than it deserves.

    >>> ranged(38.2, 41.7), ranged(9.5, 9.84), ranged(0, 1.02), ranged(1.1, 1.12)
    ('38–41', '9.5–9.8', '0–1', '1.1')
    """
    ends = [_few_digits(low), _few_digits(high)]
    return "–".join(dict.fromkeys(ends))


def _few_digits(value: float) -> str:
    """Whole from 10 on; cut off and not rounded, as no part of a request runs."""
    return f"{int(value):,}" if value >= 10 else f"{int(value * 10) / 10:.1f}".removesuffix(".0")
