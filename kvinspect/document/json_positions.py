"""Where the values of a JSON text stand, found by a small scanner that runs at the first question."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]

from kvinspect.document.problem import Mark, Path, Problem

SPACE = re.compile(r"[ \t\n\r]*")
NEWLINE = re.compile(r"\n")
WORD = re.compile(r"[^\s,\]}]+")


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
        return list(self._repeated_in(self.scanned().root or _Node(0), ()))

    def _repeated_in(self, node: _Node, path: Path) -> Iterator[Problem]:
        """The same for the objects at a path and below it."""
        for key, place in node.twice:
            message = f"the key {key!r} stands here twice"
            yield Problem((*path, key), message=message, mark=self._mark(place), kind="duplicate-key")
        for part, (_, child) in node.children.items():
            yield from self._repeated_in(child, (*path, part))

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
