"""Shell scripts, and shell text in other files: commands that start vLLM, and variables that hold its flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.document.problem import Mark
from kvinspect.places import docker_run
from kvinspect.places.forms import SHELL_COMMAND, SHELL_VARIABLE
from kvinspect.places.fragment import Entry, Fragment, Word
from kvinspect.places.rollout import rollout
from kvinspect.places.shell_tree import Tree, parse
from kvinspect.places.shell_variables import Assigned, Variables
from kvinspect.places.shell_words import WORDS, ShellWord, word_of
from kvinspect.places.source import Source, of_file
from kvinspect.places.started import Inner, started

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_WORDS = 20_000
"""Words of variables that a text's commands name, all together; the variables of later ones stay opaque."""


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a shell script."""
    return find_in(of_file(text), SHELL_COMMAND)


def find_in(source: Source, form: str = SHELL_COMMAND, deep: int = 0) -> Iterator[Fragment]:
    """The places of a shell text inside a file, in the order of the file. Nothing in a comment, a heredoc, an echo."""
    if "vllm" not in source.text.lower():
        return
    tree = parse(source.text)
    if tree is not None:
        yield from sorted(_Reader(tree, source, form, deep).fragments(), key=_begins)


def started_by(words: Sequence[Word], form: str, inner: Inner | None = None, deep: int = 0) -> Iterator[Fragment]:
    """The places among words that begin with a program, and those of the shell texts among them; see `started`."""
    return started(words, form, find_in, inner, deep)


def words_of(source: Source) -> tuple[Word, ...]:
    """The words of a string that holds arguments; line ends count as blanks, and what follows an operator is left out.

    >>> [word.text for word in words_of(of_file("--model 'a b'\\n-tp 2"))]
    ['--model', 'a b', '-tp', '2']
    """
    plain = source._replace(text=source.text.replace("\n", " "))
    tree = parse(plain.text)
    if tree is None:
        return ()
    nodes = list(tree.nodes("command", "variable_assignment"))
    if nodes and nodes[0].type == "command":
        return tuple(word.word for word in _words(tree, nodes[0], plain))
    return tuple(word_of(tree, node, plain).word for node in nodes if node.type != "command")


class _Filled(NamedTuple):
    """A word of a command as it runs: the command's own, or one that a variable holds."""

    word: Word
    own: int
    """Which word of the command it comes from."""


class _Reader:
    """One shell text with its variables."""

    def __init__(self, tree: Tree, source: Source, form: str, deep: int) -> None:
        self.tree, self.source, self.form, self.deep = tree, source, form, deep
        self.variables = Variables(tree, source)
        self.exported = list(_exported(tree, source))
        self.of_variables = SHELL_VARIABLE if form == SHELL_COMMAND else form
        self.values: dict[str, list[Word]] = {}
        self.left = MAX_WORDS

    def fragments(self) -> Iterator[Fragment]:
        """The places, in no order."""
        listed: set[str] = set()
        for node in self.tree.nodes("command"):
            yield from self._of_command(_words(self.tree, node, self.source), node.start_byte, listed)
        for name in self.variables.of:
            if name not in listed:
                yield from self._of_variable(name)

    def _of_command(self, words: Sequence[ShellWord], at: int, listed: set[str]) -> Iterator[Fragment]:
        """What a command starts, and the variables that hold its flags."""
        env = tuple(entry for start, entry in self.exported if start < at)
        override = rollout([self.variables.filled(word) for word in words]) if words else None
        if override is not None:
            yield override._replace(env=env)
        filled = list(self._filled(words))
        for found in started_by([one.word for one in filled], self.form, self._inner(filled, words), self.deep):
            fragment = found._replace(env=(*env, *found.env))
            behind = filled[len(filled) - len(found.words) :]
            if tuple(one.word for one in behind) != found.words:
                yield fragment
                continue
            own = [words[number] for number in dict.fromkeys(one.own for one in behind)]
            if fragment.command not in {word.word.mark for word in words}:
                # A variable holds the program too.
                listed.update(word.variable for word in words if word.variable)
                yield fragment._replace(form=self.of_variables)
                continue
            mine = tuple(word.word if self._held(word) else self.variables.filled(word) for word in own)
            if mine == found.words:
                yield fragment
                continue
            yield fragment._replace(words=mine, whole=found.words)
            for word in own:
                if word.variable and word.variable not in listed and self._held(word):
                    listed.add(word.variable)
                    yield from self._listed(word.variable, mine[0].mark)

    def _filled(self, words: Sequence[ShellWord]) -> Iterator[_Filled]:
        """The words of a command with those of its variables."""
        for number, word in enumerate(words):
            held = self._held(word)
            self.left -= len(held or ())
            if held is None or self.left < 0:
                yield _Filled(self.variables.filled(word), number)
            else:
                yield from (_Filled(one, number) for one in held)

    def _held(self, word: ShellWord) -> list[Word] | None:
        """The words that a variable holds, None where the word is none or holds one at most."""
        if not word.variable or word.variable not in self.variables.of:
            return None
        first, _ = self.variables.in_order(word.variable)
        if not any(one.is_array for one in first) and (word.quoted or not any(_has_blank(one) for one in first)):
            return None
        if word.variable not in self.values:
            self.values[word.variable] = [held for one in first for held in self._of_value(one)]
        return self.values[word.variable]

    def _of_value(self, assigned: Assigned) -> tuple[Word, ...]:
        """The words that one assignment gives a variable."""
        if assigned.is_array or not assigned.words:
            return tuple(self.variables.filled(word) for word in assigned.words)
        return words_of(assigned.words[0].source(self.source))

    def _listed(self, name: str, command: Mark) -> Iterator[Fragment]:
        """A variable's flags as places of their own: those that a command's `whole` has, and those it has not."""
        first, others = self.variables.in_order(name)
        for one in (*first, *others):
            words = self._of_value(one)
            if any(word.text.startswith("-") for word in words):
                yield Fragment(self.of_variables, words, part_of=command if one in first else None)

    def _of_variable(self, name: str) -> Iterator[Fragment]:
        """A variable that holds a command which nothing here runs as it stands."""
        for assigned in self.variables.of[name]:
            words = self._of_value(assigned)
            if len(words) > 1:
                yield from started_by(words, self.of_variables, None, self.deep + 1)

    def _inner(self, filled: Sequence[_Filled], words: Sequence[ShellWord]) -> Inner:
        return lambda number: words[filled[number].own].source(self.source)


def _has_blank(assigned: Assigned) -> bool:
    """Whether a scalar splits into several words where no quotes hold it together."""
    return any(" " in word.word.text or "\n" in word.word.text for word in assigned.words)


def _begins(fragment: Fragment) -> Mark:
    first = fragment.words[0].mark if fragment.words else None
    return fragment.start or first or fragment.command or Mark(0, 0)


def _words(tree: Tree, node: Node, source: Source) -> list[ShellWord]:
    """The words of a command, the variables before it and those that follow a redirection included."""
    found: list[ShellWord] = []
    for child in node.children:
        if child.type == "command_name":
            found.extend(word_of(tree, inner, source) for inner in child.children)
        elif child.type in WORDS or child.type == "variable_assignment":
            found.append(word_of(tree, child, source))
    above = node.parent
    if above is not None and above.type == "redirected_statement":
        found.extend(word_of(tree, child, source) for child in _behind_redirections(above))
    return found


def _behind_redirections(node: Node) -> Iterator[Node]:
    """Words of the command that stand behind `> file`; `<MODEL> --flag` of a manual looks like one too."""
    for redirect in node.children:
        if redirect.type == "file_redirect":
            for number, child in enumerate(redirect.children_by_field_name("destination")):
                if number or (child.text or b"").startswith(b"--"):
                    yield child


def _exported(tree: Tree, source: Source) -> Iterator[tuple[int, Entry]]:
    """(where, variable) of each `export NAME=value`."""
    for node in tree.nodes("declaration_command"):
        if node.children and node.children[0].type == "export":
            for child in node.children[1:]:
                if child.type == "variable_assignment":
                    yield child.start_byte, docker_run.assignment(word_of(tree, child, source).word)
