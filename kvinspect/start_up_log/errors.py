"""The lines of a start-up log that say why an engine does not start: their forms in 0.19 to 0.33, and what they mean.

The known errors stand before the form that takes any error, which says no more than the engine does.
"""

from __future__ import annotations

import json
import pathlib
from typing import NamedTuple

COUNT = r"(?:[0-9]{1,3}(?:,[0-9]{3}){1,5}|[0-9]{1,18})(?!,?[0-9])"
"""A count, whose commas stand where the engine puts them, not cut short."""
DECIMAL = r"[0-9]{1,12}(?:\.[0-9]{1,12})?"
"""A decimal number."""

STOPPED, ANY_ERROR = "stopped", "error"
"""Kinds of lines: of an error whose meaning is known, and of any other."""

_NO = "The engine does not start: "


class Failure(NamedTuple):
    """A form of a failed start: where it comes from, how it is found, its two sentences, and changes to try.

    Values of the line are filled in everywhere but in `pattern`; `share` is that of the device which is free.
    """

    name: str
    part: str
    """`cache`, `backends`, `graphs`, `memory` or `parallelism`."""
    kind: str
    words: str
    pattern: str
    why: str
    remedy: str
    changes: tuple[str, ...]
    """Flags of `vllm serve`."""


def _read() -> tuple[Failure, ...]:
    text = pathlib.Path(__file__).with_name("failures.json").read_text(encoding="utf-8")
    rows = [{**row, "changes": tuple(row["changes"])} for row in json.loads(text)]
    found = (Failure(**row) for row in rows)
    return tuple(one._replace(pattern=one.pattern.replace("<N>", COUNT).replace("<D>", DECIMAL)) for one in found)


FAILURES = _read()
"""The known errors: what `raise` lines of 0.19 to 0.33 print while the engine starts."""

ERRORS: tuple[tuple[str, str, str, str], ...] = (
    *((one.kind, one.words, one.pattern, _NO + one.why) for one in FAILURES),
    (
        ANY_ERROR,
        "Error: ",
        r"\b(?P<error>[A-Z]\w{0,60})Error: (?P<why>\S.{0,300})",
        "An error while the engine starts: {error}Error.",
    ),
)
"""Kind, words, pattern and meaning, as those of the other lines."""

SERVING = (
    "serving",
    "Application startup complete",
    "Application startup complete",
    "The server takes requests.",
)
"""What tells that the start was over."""
