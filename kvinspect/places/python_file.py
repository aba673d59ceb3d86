"""Python: calls of `LLM()` and `EngineArgs()`, their keyword dictionaries, and commands as lists or strings."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Sequence

from kvinspect.document.problem import Mark
from kvinspect.places import forms, shell
from kvinspect.places.fragment import Entry, Fragment
from kvinspect.places.python_text import PythonText
from kvinspect.places.python_values import Values, dotted
from kvinspect.places.shell import started_by
from kvinspect.places.source import Source, of_file

MAX_CHARACTERS = 2_000_000
CLASSES = ("LLM", "EngineArgs", "AsyncEngineArgs")
"""vLLM's classes that take engine arguments."""

CONFIGS = ("LLMConfig", "vLLMEngineProcessorConfig")
"""Classes of Ray that take them as `engine_kwargs`."""

_RUNS = re.compile(
    r"(?:.*\.)?(?:run|Popen|call|check_call|check_output|getoutput|system|popen|exec_command|create_subprocess_shell"
    r"|execute|run_command|sh|bash)$"
)
_COMMAND = re.compile(
    r"\s*(?:#!|set -|cd |export |source |[A-Z_]+=|\$\{_\}"
    r"|[\w./-]*\b(?:vllm|python3?|docker|podman|nohup|sudo|uv|bash|sh|exec|env|srun|numactl)\s)"
)
"""How a text begins that is a command and no sentence about one."""

_WORDS = ("EngineArgs", "LLMConfig", "vLLMEngineProcessorConfig", "vllm.entrypoints.", "vllm-openai")
_MARKERS = (re.compile(r"vllm(?:[\"',\s]+serve|[\w.-]*:[\w$])"), re.compile(r"LLM\b(?<!\wLLM)"))
"""What a text has that holds a place; most texts about vLLM hold none, and to parse them takes long."""

Names = dict[str, str]
"""What the text calls vLLM's classes; "" for a name that another package gives."""


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a Python file."""
    return find_in(of_file(text))


def find_in(source: Source, form: str | None = None, names: Names | None = None) -> Iterator[Fragment]:
    """The places of a Python text in a file, in their order; of a `form` of the file's own where it has one.

    `names` keeps what is imported from one cell of a notebook to the next. A text that is no Python has none.
    """
    if len(source.text) > MAX_CHARACTERS or not (names or _may_hold(source.text)):
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    found = _Reader(PythonText(source), tree, {} if names is None else names).fragments()
    for fragment in sorted(found, key=_begins):
        yield fragment._replace(form=form) if form else fragment


def _may_hold(text: str) -> bool:
    if "vllm" not in text:
        return False
    return any(word in text for word in _WORDS) or any(marker.search(text) for marker in _MARKERS)


def _begins(fragment: Fragment) -> Mark:
    first = [*fragment.words, *(entry.key for entry in fragment.entries)]
    return first[0].mark if first else fragment.command or Mark(0, 0)


class _Reader:
    """One text with its imports and the nodes above each node."""

    def __init__(self, text: PythonText, tree: ast.Module, names: Names) -> None:
        self.text, self.names = text, names
        self.values = Values(text, tree)
        self.above: dict[ast.AST, ast.AST] = {}
        self.nodes: list[ast.AST] = [tree]
        for node in self.nodes:  # which grows by what the node holds
            for child in ast.iter_child_nodes(node):
                self.above[child] = node
                self.nodes.append(child)
            if isinstance(node, ast.Import | ast.ImportFrom):
                self._imported(node)
        self.env = list(self._environment())
        self.commands: set[tuple[ast.AST | None, str]] = set()
        self.listed: set[ast.expr] = set()
        """Items of the lists that are commands."""

    def fragments(self) -> Iterator[Fragment]:
        """The places, in no order."""
        kwargs: set[str] = set()
        for node in self.nodes:
            if isinstance(node, ast.Call):
                yield from self._of_call(node, kwargs)
            elif isinstance(node, ast.List | ast.Tuple) and not self._is_added(node):
                yield from self._of_list(node)
            elif isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
                yield from self._of_string(node)
        for node in self.nodes:
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                yield from self._of_assigned(node, kwargs)
                yield from self._of_item(node, kwargs)
            elif isinstance(node, ast.AugAssign | ast.Call):
                yield from self._of_extended(node)

    def _imported(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            self.names.update({alias.asname or "vllm": "vllm" for alias in node.names if alias.name == "vllm"})
            return
        package = (node.module or "").partition(".")[0]
        for alias in node.names:
            if alias.name in CLASSES:
                self.names[alias.asname or alias.name] = alias.name if package == "vllm" and not node.level else ""

    def _environment(self) -> Iterator[tuple[int, Entry]]:
        """(line, variable) of what the text sets in its own environment."""
        for node in self.nodes:
            if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Subscript):
                if dotted(target.value) in ("os.environ", "environ"):
                    yield from self._variable(target.slice, node.value)
            elif isinstance(node, ast.Call) and dotted(node.func) in ("os.environ.setdefault", "environ.setdefault"):
                yield from self._variable(*node.args[:2]) if len(node.args) == 2 else ()

    def _variable(self, key: ast.expr, value: ast.expr) -> Iterator[tuple[int, Entry]]:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            word = self.values.word(key)
            yield key.lineno, Entry(word._replace(mark=word.begins, inner=None), self.values.word(value))

    def _of_call(self, node: ast.Call, kwargs: set[str]) -> Iterator[Fragment]:
        called = dotted(node.func)
        package, _, attribute = called.partition(".")
        if called.rpartition(".")[2] in CONFIGS:
            yield from self._engine_kwargs(node)
        if not (self.names.get(called) in CLASSES or (self.names.get(package) == "vllm" and attribute in CLASSES)):
            return
        kwargs.update(one.value.id for one in node.keywords if one.arg is None and isinstance(one.value, ast.Name))
        first = [self._positional(one) for one in node.args[:1] if not isinstance(one, ast.Starred)]
        entries = (*first, *self.values.keywords(node))
        env = tuple(entry for line, entry in self.env if line <= node.lineno)
        if entries:
            yield Fragment(forms.PYTHON_CALL, entries=entries, command=self._mark(node.func), env=env)

    def _positional(self, node: ast.expr) -> Entry:
        """The model, which is the first argument."""
        return self.values.entry("model", self.text.span(node)[0], node)

    def _engine_kwargs(self, node: ast.Call) -> Iterator[Fragment]:
        for keyword in node.keywords:
            if keyword.arg == "engine_kwargs" and (entries := self.values.of_dict(keyword.value)):
                yield Fragment(forms.PYTHON_DICT, entries=entries)

    def _of_assigned(self, node: ast.Assign | ast.AnnAssign, kwargs: set[str]) -> Iterator[Fragment]:
        """A dictionary that is passed to one of vLLM's classes with `**`."""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        named = any(isinstance(target, ast.Name) and target.id in kwargs for target in targets)
        if named and node.value is not None and (entries := self.values.of_dict(node.value)):
            yield Fragment(forms.PYTHON_DICT, entries=entries)

    def _of_item(self, node: ast.Assign | ast.AnnAssign, kwargs: set[str]) -> Iterator[Fragment]:
        """A key that is added to such a dictionary later."""
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name) or node.value is None:
            return
        key = target.slice
        if target.value.id in kwargs and isinstance(key, ast.Constant) and isinstance(key.value, str):
            found = self.values.entry(key.value, self.text.span(key)[0], node.value)
            yield Fragment(forms.PYTHON_DICT, entries=(found._replace(key=self.values.word(key)),))

    def _of_list(self, node: ast.List | ast.Tuple) -> Iterator[Fragment]:
        """A command as a list of words."""
        items = self._items(node)
        if not any(_may_start(item) for item in items):
            return
        words = [self.values.word(item) for item in items]
        for fragment in started_by(words, forms.PYTHON_ARGV, lambda i: self.text.literal(items[i])):
            self.listed.update(items)
            self.commands.update((self._scope(node), name) for name in self._assigned_names(node))
            yield fragment

    def _items(self, node: ast.expr) -> list[ast.expr]:
        """The items of a list and of those that are added to it."""
        found = list(node.elts) if isinstance(node, ast.List | ast.Tuple) else []
        above = self.above.get(node)
        while isinstance(above, ast.BinOp) and isinstance(above.op, ast.Add):
            found.extend(above.right.elts if isinstance(above.right, ast.List | ast.Tuple) else [above.right])
            above = self.above.get(above)
        return found

    def _is_added(self, node: ast.expr) -> bool:
        above = self.above.get(node)
        return isinstance(above, ast.BinOp) and above.right is node

    def _of_extended(self, node: ast.AugAssign | ast.Call) -> Iterator[Fragment]:
        """Flags that are added later to a list that holds a command."""
        target: ast.expr
        if isinstance(node, ast.AugAssign):
            target, value = node.target, node.value
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "extend" and len(node.args) == 1:
            target, value = node.func.value, node.args[0]
        else:
            return
        if isinstance(target, ast.Name) and (self._scope(node), target.id) in self.commands:
            words = tuple(self.values.word(item) for item in getattr(value, "elts", ()))
            if any(word.text.startswith("-") and not word.opaque for word in words):
                yield Fragment(forms.PYTHON_ARGV, words)

    def _of_string(self, node: ast.expr) -> Iterator[Fragment]:
        """A command as one text, where the text is kept or run and no sentence for people."""
        if isinstance(node, ast.Constant) and (
            "vllm" not in str(node.value) or isinstance(self.above.get(node), ast.JoinedStr)
        ):
            return
        if node in self.listed or not self._is_kept(node):
            return
        source = self.text.literal(node)
        if "vllm" in source.text and " " in source.text and _COMMAND.match(source.text):
            yield from shell.find_in(source, forms.PYTHON_SHELL)

    def _is_kept(self, node: ast.AST) -> bool:
        """Whether a string is assigned, returned or handed to what runs commands."""
        above = self.above.get(node)
        while isinstance(above, ast.List | ast.Tuple | ast.Dict | ast.BinOp | ast.IfExp | ast.keyword):
            node, above = above, self.above.get(above)
        if isinstance(above, ast.Call):
            return node is not above.func and _RUNS.match(dotted(above.func)) is not None
        return isinstance(above, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return)

    def _scope(self, node: ast.AST) -> ast.AST | None:
        above = self.above.get(node)
        while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
            above = self.above.get(above)
        return above

    def _assigned_names(self, node: ast.AST) -> Sequence[str]:
        above = self.above.get(node)
        while isinstance(above, ast.BinOp):
            above = self.above.get(above)
        targets = (
            above.targets
            if isinstance(above, ast.Assign)
            else [above.target]
            if isinstance(above, ast.AnnAssign)
            else []
        )
        return [target.id for target in targets if isinstance(target, ast.Name)]

    def _mark(self, node: ast.expr) -> Mark:
        return self.text.source.at(self.text.span(node)[0])


def _may_start(node: ast.expr) -> bool:
    """Whether an item of a list can be what starts vLLM, or hold it."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "vllm" in node.value
