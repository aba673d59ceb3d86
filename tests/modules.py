"""The modules of the package and what each imports, read off their text."""

import ast
from functools import cache
from typing import NamedTuple

from conftest import ROOT

PACKAGE = ROOT / "kvinspect"


def _name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {_name(path): path for path in PACKAGE.rglob("*.py")}
"""Module → its file."""


class Import(NamedTuple):
    """A module that another imports."""

    module: str
    late: bool
    """Whether a function imports it."""


@cache
def tree(module):
    """The syntax tree of a module."""
    return ast.parse(PATHS[module].read_text(encoding="utf-8"))


def targets(module, late=True):
    """The modules that a module imports, those for types among them, with those in functions."""
    for found in imports_in(tree(module)):
        if late or not found.late:
            yield found.module


def imports_in(node, late=False):
    """Every import below a node; a name that is a module of its package stands for that module."""
    late = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, late) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, "imports are absolute"
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            yield Import(inner if inner in PATHS else node.module, late)
    for _, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from imports_in(child, late)
