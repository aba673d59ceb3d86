"""What expressions of a Python text are as words and entries: literals, names of the same file, the rest opaque."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvinspect.places.fragment import Entry, Word
from kvinspect.places.python_text import PythonText

_ENVIRONMENT = ("os.environ.get", "os.getenv", "environ.get", "getenv")


class Values:
    """The expressions of one text."""

    def __init__(self, text: PythonText, tree: ast.Module) -> None:
        self.text = text
        self.constants = _constants(tree)

    def word(self, node: ast.expr) -> Word:
        """An expression as a word: what a literal says, or what is written."""
        start, _ = self.text.span(node)
        mark = self.text.source.at(start)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return Word(node.value, mark, inner=self.text.literal(node).at(0) if node.value else None)
        if (text := _literal(node)) is not None:
            return Word(text, mark)
        if isinstance(node, ast.Name) and node.id in self.constants:
            held = self.word(self.constants[node.id])
            return held._replace(mark=mark, inner=held.begins)
        if isinstance(node, ast.JoinedStr):
            return Word(self.text.literal(node).text, mark, opaque=True)
        return Word(self.text.written(node), mark, opaque=True, default=_default(node))

    def entry(self, name: str, at: int, node: ast.expr) -> Entry:
        """A key and its value."""
        key = Word(name, self.text.source.at(at))
        if isinstance(node, ast.Dict | ast.List | ast.Tuple | ast.Set):
            written = Word(self.text.written(node), self.text.source.at(self.text.span(node)[0]))
            try:
                return Entry(key, written, ast.literal_eval(node))
            except (ValueError, TypeError, RecursionError, SyntaxError):
                return Entry(key, written._replace(opaque=True))
        return Entry(key, self.word(node))

    def of_dict(self, node: ast.expr) -> tuple[Entry, ...]:
        """The entries of `{…}` or `dict(…)` whose keys are texts; none where it is neither."""
        if isinstance(node, ast.Dict):
            return tuple(self._items(node))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict":
            return tuple(self.keywords(node))
        return ()

    def keywords(self, node: ast.Call) -> Iterator[Entry]:
        """The keyword arguments of a call, those of `**{…}` included."""
        for keyword in node.keywords:
            if keyword.arg is not None:
                yield self.entry(keyword.arg, self.text.span(keyword)[0], keyword.value)
            else:
                yield from self.of_dict(keyword.value)

    def _items(self, node: ast.Dict) -> Iterator[Entry]:
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                found = self.entry(key.value, self.text.span(key)[0], value)
                yield found._replace(key=self.word(key))
            elif key is None:
                yield from self.of_dict(value)


def dotted(node: ast.expr) -> str:
    """`a.b.c` of a name or of its attributes, "" of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def _constants(tree: ast.Module) -> dict[str, ast.Constant]:
    """The names that a text assigns once, at its top level, with the literal that each is."""
    assigned: dict[str, list[ast.expr | None]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            assigned.setdefault(node.id, []).append(None)
        elif isinstance(node, ast.arg):
            assigned.setdefault(node.arg, []).append(None)
    found = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, value = statement.targets[0], statement.value
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant) and len(assigned[target.id]) == 1:
                found[target.id] = value
    return found


def _literal(node: ast.expr) -> str | None:
    """A number, a boolean or None as it is written; None of anything else."""
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, bool | int | float)):
        return _number(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _literal(node.operand)
        return f"-{inner}" if inner and inner[0].isdigit() else None
    return None


def _number(value: float | None) -> str | None:
    try:
        return str(value)
    except ValueError:  # an integer of thousands of digits
        return None


def _default(node: ast.expr) -> str | None:
    """What `os.environ.get(NAME, default)` is where the variable is unset."""
    if isinstance(node, ast.Call) and len(node.args) == 1 and dotted(node.func) in ("int", "float", "str"):
        return _default(node.args[0])
    if isinstance(node, ast.Call) and dotted(node.func) in _ENVIRONMENT and len(node.args) == 2:
        default = node.args[1]
        return str(default.value) if isinstance(default, ast.Constant) and isinstance(default.value, str) else None
    return None
