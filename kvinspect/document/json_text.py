"""The value of a JSON text, from `json.loads`; where things stand in it is `json_positions`."""

from __future__ import annotations

import json
from typing import Any

from kvinspect.document.json_positions import JsonPositions
from kvinspect.document.limits import MAX_DEPTH, MAX_DIGITS, MAX_VALUES
from kvinspect.document.numbers import counted
from kvinspect.document.problem import DocumentError, Mark, Problem


def parse_json(text: str) -> tuple[Any, JsonPositions, list[Problem]]:
    """The value of a JSON text, and the keys that stand twice in it, of which the last counts.

    Raises DocumentError with marks, without a file name.
    """
    objects = _Objects()
    try:
        value = json.loads(text, object_pairs_hook=objects.made, parse_int=_integer)
    except json.JSONDecodeError as error:
        mark = Mark(error.lineno, error.colno)
        raise DocumentError([Problem((), message=f"not valid JSON: {error.msg}", mark=mark, kind="syntax")]) from None
    except RecursionError:
        raise DocumentError([_limit(f"at most {MAX_DEPTH} levels of lists and objects")]) from None
    except OverflowError as error:
        raise DocumentError([Problem((), message=str(error), kind="limit")]) from None
    _measure(value)
    positions = JsonPositions(text)
    return value, positions, positions.scanned().repeated() if objects.repeated else []


class _Objects:
    """Makes the objects of a text, counts what stands in them and notes whether a key stands twice."""

    def __init__(self) -> None:
        self.count, self.repeated = 0, False

    def made(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        """The object of a list of pairs, keys that stand twice noted."""
        self.count += len(pairs)
        if self.count > MAX_VALUES:
            raise DocumentError([_limit(f"at most {MAX_VALUES} values")])
        found = dict(pairs)
        self.repeated |= len(found) != len(pairs)
        return found


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise OverflowError(f"a number of {counted(len(digits), 'character')}")
    return int(digits)


def _measure(value: Any) -> None:
    """Raises DocumentError where a value is deeper or larger than a document may be."""
    level, count = [value], 0
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                inner.extend(item.values())
            elif isinstance(item, list):
                inner.extend(item)
        count += len(level)
        if count > MAX_VALUES:
            raise DocumentError([_limit(f"at most {MAX_VALUES} values")])
        if not inner:
            return
        level = inner
    raise DocumentError([_limit(f"at most {MAX_DEPTH} levels of lists and objects")])


def _limit(expected: str) -> Problem:
    return Problem((), expected=expected, found="more", kind="limit")
