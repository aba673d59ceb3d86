"""The words of a shell's syntax tree: what a program would receive, and where each character of that stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.places.fragment import Word
from kvinspect.places.shell_tree import Tree
from kvinspect.places.source import Source, of_characters

if TYPE_CHECKING:
    from tree_sitter import Node

EXPANSIONS = frozenset((
    "simple_expansion", "expansion", "command_substitution", "arithmetic_expansion", "process_substitution",
    "brace_expression",
))  # fmt: skip
WORDS = frozenset((
    "word", "number", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "extglob_pattern",
    "regex", *EXPANSIONS,
))  # fmt: skip

_PLAIN_ESCAPE = re.compile(r"\\(\n|.|\Z)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r"\\([\n\"\\$`])")
_VARIABLE = re.compile(r"\$(?:\{\s*(?P<braced>\w+)(?:\[[@*]\])?\s*(?::?-(?P<default>[^{}$`]*))?\}|(?P<plain>\w+))")
_PLACEHOLDER = re.compile(r"\{\{|\.\.\.$|…|^<.*>$|^\[.*\]$")
"""What an author leaves for the reader, or a template for its renderer, to fill in."""


class ShellWord(NamedTuple):
    """A word, what it expands, and where each character of its text stands in the shell's text."""

    word: Word
    offsets: tuple[int, ...]
    variable: str | None = None
    """The name of the variable that is the whole word, without or with quotes."""
    quoted: bool = False
    parts: tuple[tuple[str, bool], ...] = ()
    """Its text in parts, each with whether a shell would replace it."""

    def source(self, outer: Source) -> Source:
        """Its text as a source of its own, for a shell inside a shell."""
        return of_characters(self.word.text, [outer.at(offset) for offset in self.offsets])


class _Piece(NamedTuple):
    text: str
    offsets: tuple[int, ...]
    expanded: bool = False


def word_of(tree: Tree, node: Node, outer: Source) -> ShellWord:
    """The word that a node of the tree is."""
    pieces = list(_pieces(tree, node))
    text = "".join(piece.text for piece in pieces)
    offsets = tuple(offset for piece in pieces for offset in piece.offsets)
    opaque = any(piece.expanded for piece in pieces)
    start = tree.span(node)[0]
    begins = offsets[0] if offsets else start
    word = Word(
        text,
        outer.at(start),
        opaque=opaque or _PLACEHOLDER.search(text) is not None,
        default=_default(pieces) if opaque else None,
        inner=outer.at(begins) if begins != start else None,
    )
    alone = _VARIABLE.fullmatch(text) if len(pieces) == 1 and opaque else None
    variable = (alone["braced"] or alone["plain"]) if alone else None
    return ShellWord(
        word, offsets, variable, node.type == "string", tuple((piece.text, piece.expanded) for piece in pieces)
    )


def name_in(text: str) -> tuple[str, str | None] | None:
    """(variable, its default) of an expansion, None where it is another one (`$(…)`, `${#A}`)."""
    found = _VARIABLE.fullmatch(text)
    return (found["braced"] or found["plain"], found["default"]) if found else None


def _default(pieces: list[_Piece]) -> str | None:
    """What the word is where its variables are unset, None where one has no default."""
    found = []
    for piece in pieces:
        name = name_in(piece.text) if piece.expanded else None
        if piece.expanded and (name is None or name[1] is None):
            return None
        found.append((name[1] or "") if name else piece.text)
    return "".join(found)


def _pieces(tree: Tree, node: Node) -> Iterator[_Piece]:
    """The parts of a word in their order, quotes and escapes undone."""
    start, end = tree.span(node)
    if node.type in EXPANSIONS:
        yield _Piece(tree.text[start:end], tuple(range(start, end)), expanded=True)
    elif node.type in ("concatenation", "variable_assignment"):
        for child in node.children:
            yield from _pieces(tree, child)
    elif node.type in ("string", "translated_string"):
        quote = tree.text.find('"', start)
        yield from _quoted(tree, node, quote + 1, end - 1 if tree.text[end - 1] == '"' and end - 1 > quote else end)
    elif node.type in ("raw_string", "ansi_c_string"):
        start += tree.text[start : start + 2].find("'") + 1
        yield _Piece(tree.text[start : end - 1], tuple(range(start, end - 1)))
    else:
        yield _unescaped(tree.text, start, end, _PLAIN_ESCAPE)


def _quoted(tree: Tree, node: Node, start: int, end: int) -> Iterator[_Piece]:
    """What stands between double quotes: the expansions in it, and the text between them, blanks included."""
    for inner in _expansions(node):
        begin, behind = tree.span(inner)
        if begin > start:
            yield _unescaped(tree.text, start, begin, _QUOTED_ESCAPE)
        yield _Piece(tree.text[begin:behind], tuple(range(begin, behind)), expanded=True)
        start = behind
    if start < end:
        yield _unescaped(tree.text, start, end, _QUOTED_ESCAPE)


def _expansions(node: Node) -> Iterator[Node]:
    for child in node.children:
        if child.type in EXPANSIONS:
            yield child
        elif child.type == "string":
            yield from _expansions(child)


def _unescaped(text: str, start: int, end: int, escape: re.Pattern[str]) -> _Piece:
    """The text between two offsets without the backslashes that escape."""
    found: list[str] = []
    offsets: list[int] = []
    for one in escape.finditer(text, start, end):
        found.append(text[start : one.start()])
        offsets.extend(range(start, one.start()))
        if one[1] != "\n":
            found.append(one[1])
            offsets.extend(range(one.start(1), one.end(1)))
        start = one.end()
    found.append(text[start:end])
    offsets.extend(range(start, end))
    return _Piece("".join(found), tuple(offsets))
