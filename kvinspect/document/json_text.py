"""JSON with positions: values from `json.loads`, positions from a small scanner that runs on first use."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from kvinspect.document.limits import MAX_DEPTH, MAX_DIGITS, MAX_VALUES
from kvinspect.document.numbers import counted
from kvinspect.document.problem import DocumentError, Mark, Path, Problem

SPACE = re.compile(r"[ \t\n\r]*")
NEWLINE = re.compile(r"\n")
WORD = re.compile(r"[^\s,\]}]+")


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


@dataclass
class _Node:
    """Where a value begins, and its children: key or index → (place of the key or None, node)."""

    start: int
    children: dict[str | int, tuple[int | None, _Node]] = field(default_factory=dict)
    twice: list[tuple[str, int]] = field(default_factory=list)


class JsonPositions:
    """Positions of paths; the text is scanned at the first question, and was parsed without error before."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root: _Node | None = None
        self.lines = [0, *(found.end() for found in NEWLINE.finditer(text))]

    def scanned(self) -> JsonPositions:
        """These positions, with the text scanned."""
        if self.root is None:
            self.root, _ = self._value(self._skip(0))
        return self

    def locate(self, path: Path, at_key: bool) -> Mark | None:
        """See `Positions.locate`."""
        node = self.scanned().root
        place = node.start if node else 0
        for depth, part in enumerate(path):
            found = node.children.get(part) if node else None
            if found is None:
                break
            key, node = found
            place = key if at_key and key is not None and depth == len(path) - 1 else node.start
        return self._mark(place)

    def written(self, path: Path) -> str | None:
        """See `Positions.written`. JSON has no second reading of a word."""
        return None

    def repeated(self) -> list[Problem]:
        """A problem for every key that stands twice in its object."""
        out: list[Problem] = []

        def visit(node: _Node, path: Path) -> None:
            for key, place in node.twice:
                message = f"the key {key!r} stands here twice"
                out.append(Problem((*path, key), message=message, mark=self._mark(place), kind="duplicate-key"))
            for part, (_, child) in node.children.items():
                visit(child, (*path, part))

        visit(self.scanned().root or _Node(0), ())
        return out

    def _mark(self, place: int) -> Mark:
        line = bisect_right(self.lines, place)
        return Mark(line, place - self.lines[line - 1] + 1)

    def _skip(self, at: int) -> int:
        return SPACE.match(self.text, at).end()  # type: ignore[union-attr]

    def _value(self, at: int) -> tuple[_Node, int]:
        opening = self.text[at]
        if opening == '"':
            return _Node(at), scanstring(self.text, at + 1, False)[1]
        if opening in "{[":
            return self._container(at, "}" if opening == "{" else "]")
        return _Node(at), WORD.match(self.text, at).end()  # type: ignore[union-attr]

    def _container(self, start: int, closing: str) -> tuple[_Node, int]:
        node, at = _Node(start), self._skip(start + 1)
        while self.text[at] != closing:
            key: str | int = len(node.children)
            key_place = None
            if closing == "}":
                key_place = at
                key, at = scanstring(self.text, at + 1, False)
                at = self._skip(self._skip(at) + 1)
            if key in node.children and key_place is not None:
                node.twice.append((str(key), key_place))
            child, at = self._value(at)
            node.children[key] = (key_place, child)
            at = self._skip(at)
            at = self._skip(at + 1) if self.text[at] == "," else at
        return node, at + 1
