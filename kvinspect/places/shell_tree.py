"""The syntax tree of a shell text, by tree-sitter, with offsets in characters. Nothing is run."""

from __future__ import annotations

import functools
import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_CHARACTERS = 300_000
MAX_DEEP = 300
"""Brackets inside each other; the parser takes quadratic time over unclosed ones."""

MAX_SECONDS = 1.0  # of this thread, whatever else the machine does
"""A text of the longest kind takes 0.4; one that is made of errors takes quadratic time."""

_CHUNK = 16_384
_BRACKETS = re.compile(r"[(){}]")


class Tree:
    """A parsed text; nodes give their text and offsets in characters."""

    def __init__(self, text: str, root: Node) -> None:
        self.text, self.root = text, root
        self._starts = None if text.isascii() else _character_of_byte(text)

    def span(self, node: Node) -> tuple[int, int]:
        """Where a node begins and ends, in characters."""
        if self._starts is None:
            return node.start_byte, node.end_byte
        return self._starts[node.start_byte], self._starts[node.end_byte]

    def nodes(self, *kinds: str) -> Iterator[Node]:
        """The nodes of some kinds, in the order of the text, those inside each other too."""
        left = [self.root]
        while left:
            node = left.pop()
            if node.type in kinds:
                yield node
            left.extend(reversed(node.children))


def parse(text: str) -> Tree | None:
    """The tree of a text, None for one that is too long, nested too deeply or no shell's."""
    if len(text) > MAX_CHARACTERS or _depth(text) > MAX_DEEP:
        return None
    from tree_sitter import Parser

    data, end = text.encode("utf-8", "replace"), time.thread_time() + MAX_SECONDS
    chunks: dict[int, bytes] = {}

    def read(at: int, _point: object) -> bytes:
        # The parser reads on in what was given to it, and holds no reference to it.
        return chunks.setdefault(at, data[at : at + _CHUNK])

    try:
        tree = Parser(_language()).parse(read, progress_callback=lambda _offset, _has_error: time.thread_time() > end)
    except ValueError:
        return None
    return Tree(text, tree.root_node)


@functools.cache
def _language() -> Language:
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _depth(text: str) -> int:
    """How many brackets are open at once at most; one that closes nothing counts for nothing."""
    deep = most = 0
    for found in _BRACKETS.finditer(text):
        deep = deep + 1 if found[0] in "({" else max(0, deep - 1)
        most = max(most, deep)
    return most


def _character_of_byte(text: str) -> list[int]:
    """For each byte of the text in UTF-8, and the end, which character it belongs to."""
    starts: list[int] = []
    for number, character in enumerate(text):
        starts.extend([number] * len(character.encode("utf-8", "replace")))
    starts.append(len(text))
    return starts
