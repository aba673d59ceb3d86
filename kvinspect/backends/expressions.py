"""Sizes as a catalogue or a document writes them: `2*head_size`, `head_size//2+head_size//16`.

An expression is parsed once into a tree of integers, names, sums, products and floor divisions, and evaluated often.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from operator import add, floordiv, mul, sub

Values = Mapping[str, int]
Evaluator = Callable[[Values], int]

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.FloorDiv: floordiv,
}


def evaluate(expression: str | int, values: Values) -> int:
    """The value of an expression. Raises KeyError for a name without a value, ValueError for anything but sizes.

    >>> evaluate("head_size//2+4", {"head_size": 80})
    44
    """
    return expression if isinstance(expression, int) else _parsed(expression)(values)


def check(expressions: Iterable[str | int]) -> None:
    """Parse expressions, to be evaluated later. Raises ValueError for anything but sizes."""
    for one in expressions:
        if isinstance(one, str):
            _parsed(one)


@lru_cache(maxsize=1024)
def _parsed(expression: str) -> Evaluator:
    try:
        return _evaluator(ast.parse(expression.strip(), mode="eval").body)
    except SyntaxError:
        raise ValueError(f"{expression!r} is no size") from None


def _evaluator(node: ast.expr) -> Evaluator:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        constant = node.value
        return lambda values: constant
    if isinstance(node, ast.Name):
        name = node.id
        return lambda values: values[name]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        operator = _OPERATORS[type(node.op)]
        left, right = _evaluator(node.left), _evaluator(node.right)
        return lambda values: operator(left(values), right(values))
    raise ValueError(f"{ast.unparse(node)!r} is no size")
