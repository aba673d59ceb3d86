"""The nodes of a YAML or JSON text, all documents of it, and what a scalar says with the place of each character.

Nothing is constructed: a tag of somebody's own, a key that is a number or a template's braces are text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import yaml

from kvinspect.document.limits import MAX_DEPTH
from kvinspect.document.yaml_text import MERGE, Loader
from kvinspect.places.fragment import Word
from kvinspect.places.source import Source

HELD = "\ue000"
"""What a template's braces are replaced by, a character for a character."""

_DIRECTIVE = re.compile(
    r"^[ \t]*(?:\{\{-?\s*(?:if|else|end|with|range|define|block|template|/\*)[^\n]*|\{%[^\n]*%\}[ \t]*)$", re.M
)
_EXPRESSION = re.compile(r"\{\{[^{}\n]*\}\}")
_BLANK = " \t\r\n\x85\u2028\u2029"


def documents(source: Source) -> Iterator[yaml.Node]:
    """The root of each document; those behind a fault of the text are left out. Lines of a template are skipped."""
    text = source.text
    if "{{" in text or "{%" in text:
        text = _EXPRESSION.sub(lambda found: HELD * len(found[0]), _DIRECTIVE.sub(_blanked, text))
    loader = Loader(text)
    try:
        while loader.check_node():
            node = loader.get_node()
            if node is not None:
                yield node
    except (yaml.YAMLError, RecursionError, ValueError):
        return
    finally:
        loader.dispose()


def _blanked(found: re.Match[str]) -> str:
    return " " * len(found[0])


def pairs(node: yaml.Node | None, deep: int = 0) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
    """The keys of a mapping with their values, its own first and then those that it merges."""
    if not isinstance(node, yaml.MappingNode) or deep > MAX_DEPTH:
        return
    merged: list[yaml.Node] = []
    for key, value in node.value:
        if key.tag == MERGE:
            merged += value.value if isinstance(value, yaml.SequenceNode) else [value]
        elif isinstance(key, yaml.ScalarNode):
            yield key, value
    for one in merged:
        yield from pairs(one, deep + 1)


def get(node: yaml.Node | None, *names: str) -> yaml.Node | None:
    """The value that a path of keys leads to, None where there is none."""
    for name in names:
        node = next((value for key, value in pairs(node) if key.value == name), None)
    return node


def scalars(node: yaml.Node | None) -> list[yaml.ScalarNode]:
    """The scalars of a list."""
    return [one for one in items(node) if isinstance(one, yaml.ScalarNode)]


def items(node: yaml.Node | None) -> list[yaml.Node]:
    """The items of a list; none of anything else."""
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def text_of(node: yaml.Node | None) -> str:
    """The text of a scalar, "" of anything else."""
    return str(node.value) if isinstance(node, yaml.ScalarNode) else ""


def inner(node: yaml.ScalarNode, source: Source) -> Source:
    """The text of a scalar as a source of its own, a template's braces as they are written."""
    offsets = _offsets(node, source.text)
    value = "".join(
        source.text[at] if char == HELD else char for char, at in zip(str(node.value), offsets, strict=False)
    )
    return Source(value, lambda offset: source.at(offsets[min(offset, len(value))]))


def _offsets(node: yaml.ScalarNode, text: str) -> list[int]:
    """Where each character of a scalar's value stands in the text, and what is behind the last one."""
    at, end = node.start_mark.index, node.end_mark.index
    if node.style in ("|", ">"):
        at = text.find("\n", at) + 1 or end
    elif node.style:
        at += 1
    found = []
    for char in str(node.value):
        at = _next(text, at, end, char, node.style)
        found.append(at)
        at += _width(text, at, char, node.style)
    return [*found, min(at, end)]


def _next(text: str, at: int, end: int, char: str, style: str | None) -> int:
    """Where a character of the value stands at the earliest: behind indentation, folds and escaped line ends."""
    while at < end:
        here = text[at]
        if here == char or char == HELD or (char in " \n" and here in _BLANK):
            return at
        if style == '"' and here == "\\":
            if text[at + 1 : at + 2] not in ("\n", "\r"):
                return at
            at += 1
        elif here not in _BLANK:
            return at
        at += 1
    return end


_ESCAPED = {"x": 4, "u": 6, "U": 10}


def _width(text: str, at: int, char: str, style: str | None) -> int:
    if style == '"' and text[at : at + 1] == "\\" and char:
        return _ESCAPED.get(text[at + 1 : at + 2], 2)
    return 2 if style == "'" and text[at : at + 2] == "''" else 1


_VARIABLE = re.compile(r"\$\{(\w+)(?:(:?[-?+])([^${}]*))?\}|\$\([^()\n]*\)|\$[A-Za-z_]\w*|\{\{[^{}\n]*\}\}")


def word(node: yaml.ScalarNode, source: Source) -> Word:
    """A scalar as one word of a command line; opaque where a variable or a template decides a part of it."""
    mark = source.at(node.start_mark.index)
    is_plain = HELD not in node.value and "$" not in node.value
    text = str(node.value) if is_plain else inner(node, source).text
    begins = source.at(_offsets(node, source.text)[0]) if node.style else None
    if not _VARIABLE.search(text):
        return Word(text, mark, inner=begins)
    return Word(text, mark, True, _default(text), begins)


def _default(text: str) -> str | None:
    """The text with every variable at its default, None where one has none."""
    found = list(_VARIABLE.finditer(text))
    if any(one[2] not in ("-", ":-") for one in found):
        return None
    return _VARIABLE.sub(lambda one: one[3] or "", text)


def written(node: yaml.Node, source: Source) -> str:
    """A value as the text has it, on one line."""
    if isinstance(node, yaml.ScalarNode):
        raw = source.text[node.start_mark.index : node.end_mark.index]
        return raw if node.style is None or _looks_otherwise(node) else str(node.value)
    if isinstance(node, yaml.SequenceNode):
        return "[" + ", ".join(written(one, source) for one in node.value[:50]) + "]"
    return "{" + ", ".join(f"{key.value}: {written(value, source)}" for key, value in pairs(node)) + "}"


def _looks_otherwise(node: yaml.ScalarNode) -> bool:
    """Whether a quoted text would be of another type without its quotes."""
    resolved: Callable[..., str] = yaml.SafeLoader("").resolve
    return node.style in ("'", '"') and resolved(yaml.ScalarNode, node.value, (True, False)) != node.tag


def plain(node: yaml.Node, deep: int = 0) -> object:
    """The plain value of a node as the engine's reader has it; a tag of somebody's own leaves the text."""
    if deep > MAX_DEPTH:
        return None
    if isinstance(node, yaml.SequenceNode):
        return [plain(one, deep + 1) for one in node.value]
    if isinstance(node, yaml.MappingNode):
        return {key.value: plain(value, deep + 1) for key, value in pairs(node)}
    try:
        return yaml.SafeLoader("").construct_object(node)
    except (yaml.YAMLError, ValueError):
        return str(node.value)
