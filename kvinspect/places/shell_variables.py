"""What the variables and arrays of a shell text hold, as far as the text itself says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.places.fragment import Word
from kvinspect.places.shell_tree import Tree
from kvinspect.places.shell_words import WORDS, ShellWord, name_in, word_of
from kvinspect.places.source import Source

if TYPE_CHECKING:
    from tree_sitter import Node

_BRANCHES = frozenset(("if_statement", "case_item", "list", "while_statement", "for_statement", "function_definition"))
_DEEP = 4
"""Variables that name each other."""


class Assigned(NamedTuple):
    """One assignment of a variable."""

    name: str
    words: tuple[ShellWord, ...]
    """The value of a scalar, or the items of an array."""
    is_array: bool
    is_added: bool
    """Whether it adds to what the variable holds (`+=`)."""
    is_certain: bool
    """Whether no branch decides if it happens."""


class Variables:
    """The assignments of a text, by name, in their order."""

    def __init__(self, tree: Tree, source: Source) -> None:
        self.of: dict[str, list[Assigned]] = defaultdict(list)
        for node in tree.nodes("variable_assignment"):
            if (parent := node.parent) is not None and parent.type != "command":
                one = _assigned(tree, node, source)
                if one is not None:
                    self.of[one.name].append(one)

    def filled(self, word: ShellWord, deep: int = 0) -> Word:
        """A word with what its variables hold; where the text does not settle that, opaque with what is the default."""
        if not word.word.opaque or not word.parts:
            return word.word
        found = [self._part(text, expanded, deep) for text, expanded in word.parts]
        texts = [text for text, _ in found]
        if any(text is None for text in texts):
            return word.word
        text = "".join(text or "" for text in texts)
        if all(is_certain for _, is_certain in found):
            begins = self.of[word.variable][0].words[0].word.begins if word.variable else word.word.inner
            return word.word._replace(text=text, opaque=False, default=None, inner=begins)
        return word.word._replace(default=text)

    def _part(self, text: str, expanded: bool, deep: int) -> tuple[str | None, bool]:
        """(what a part of a word is, whether that is certain); None where it is not known."""
        named = name_in(text) if expanded else None
        if not expanded:
            return text, True
        if named is None or deep > _DEEP:
            return None, False
        name, default = named
        value = self._value(name, deep)
        return value if value[0] is not None else (default, False)

    def _value(self, name: str, deep: int) -> tuple[str | None, bool]:
        """What a scalar holds where it is assigned once."""
        assigned = self.of.get(name, [])
        if len(assigned) != 1 or assigned[0].is_array or assigned[0].is_added or not assigned[0].words:
            return None, False
        word = self.filled(assigned[0].words[0], deep + 1)
        if word.opaque:
            return word.default, False
        return word.text, assigned[0].is_certain

    def in_order(self, name: str) -> tuple[list[Assigned], list[Assigned]]:
        """(the first assignment with what is added to it, those that replace it in another branch)."""
        first: list[Assigned] = []
        others: list[Assigned] = []
        for number, one in enumerate(self.of.get(name, [])):
            (first if one.is_added or number == 0 else others).append(one)
        return first, others


def _assigned(tree: Tree, node: Node, source: Source) -> Assigned | None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or name.type != "variable_name":
        return None
    start, end = tree.span(name)
    is_array = value is not None and value.type == "array"
    return Assigned(
        tree.text[start:end],
        tuple(word_of(tree, one, source) for one in _value_nodes(value)),
        is_array,
        tree.text.startswith("+=", end),
        not any(above.type in _BRANCHES for above in _above(node)),
    )


def _value_nodes(value: Node | None) -> Iterator[Node]:
    if value is not None and value.type == "array":
        yield from (child for child in value.children if child.type in WORDS)
    elif value is not None and value.type in WORDS:
        yield value


def _above(node: Node) -> Iterator[Node]:
    above = node.parent
    while above is not None:
        yield above
        above = above.parent
