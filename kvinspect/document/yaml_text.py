"""The value of a YAML text: PyYAML's view of it, which is the engine's, composed once and guarded.

vLLM reads its config files with `yaml.safe_load` (0.25 to 0.33, `vllm.utils.argparse_utils`), so a value here is what
that gives; but a duplicate key is an error, and so is what no JSON could say (tags of its own, sets, dates).
"""

from __future__ import annotations

import re
from typing import Any

import yaml
import yaml.reader

from kvinspect.document.limits import MAX_DEPTH, MAX_DIGITS, MAX_VALUES
from kvinspect.document.numbers import counted
from kvinspect.document.problem import DocumentError, Mark, Path, Problem
from kvinspect.document.yaml_positions import YamlPositions, mark_of

Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

STR = "tag:yaml.org,2002:str"
INT = "tag:yaml.org,2002:int"
PLAIN = {f"tag:yaml.org,2002:{name}" for name in ("int", "float", "bool", "null", "timestamp")}
LIBYAML_LIMIT = "exceeded maximum nesting depth"
"""What libyaml says of a text that is deeper than it reads, which is deeper than we do."""

FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
MAP, SEQ, MERGE = (f"tag:yaml.org,2002:{name}" for name in ("map", "seq", "merge"))


def parse_yaml(text: str) -> tuple[Any, YamlPositions, list[Problem]]:
    """The value of a text of one YAML document, and the keys that stand twice in it, of which the last counts.

    Raises DocumentError with marks, without a file name.
    """
    loader = Loader(text)
    try:
        root = loader.get_single_node()
        reader = _Reader(loader)
        value = reader.value(root, (), 0) if root is not None else None
    except yaml.YAMLError as error:
        raise DocumentError([_syntax_problem(error, text)]) from None
    except RecursionError:
        raise DocumentError([_too_deep((), None)]) from None
    finally:
        loader.dispose()
    if any(problem.kind != "duplicate-key" for problem in reader.problems):
        raise DocumentError(reader.problems)
    return value, YamlPositions(root), reader.problems


class _Reader:
    """Walks a node graph once; a node that an alias repeats is read once and counted as often as it stands."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader
        self.problems: list[Problem] = []
        self.done: dict[int, tuple[Any, int]] = {}
        self.open: set[int] = set()
        self.count = 0

    def value(self, node: yaml.Node, path: Path, depth: int) -> Any:
        """The plain value of a node at a path, `depth` levels below the top."""
        if isinstance(node, yaml.ScalarNode):
            self._counted(1, node, path)
            return node.value if node.tag == STR else self._scalar(node, path)
        known = self.done.get(id(node))
        if known is not None:
            self._counted(known[1], node, path)
            return known[0]
        if depth >= MAX_DEPTH:
            raise DocumentError([_too_deep(path, node)])
        if id(node) in self.open:
            problem = Problem(path, message="an alias stands inside what it repeats", mark=mark_of(node), kind="syntax")
            raise DocumentError([problem])
        self.open.add(id(node))
        before = self.count
        self._counted(1, node, path)
        read = self._mapping if isinstance(node, yaml.MappingNode) else self._sequence
        found = read(node, path, depth + 1)
        self.open.discard(id(node))
        self.done[id(node)] = (found, self.count - before)
        return found

    def _counted(self, weight: int, node: yaml.Node, path: Path) -> None:
        self.count += weight
        if self.count > MAX_VALUES:
            limit = f"at most {MAX_VALUES} values, aliases expanded"
            raise DocumentError([Problem(path, expected=limit, found="more", mark=mark_of(node), kind="limit")])

    def _sequence(self, node: Any, path: Path, depth: int) -> Any:
        self._plain_tag(node, SEQ, path)
        return [self.value(child, (*path, i), depth) for i, child in enumerate(node.value)]

    def _mapping(self, node: Any, path: Path, depth: int) -> Any:
        self._plain_tag(node, MAP, path)
        if any(key.tag == MERGE for key, _ in node.value):
            self._merge(node, path)
        found: dict[Any, Any] = {}
        for key_node, child in node.value:
            key = self._key(key_node, path)
            if key in found:
                self._problem(path, key_node, message=f"the key {key!r} stands here twice", kind="duplicate-key")
            found[key] = self.value(child, (*path, key), depth)
        return found

    def _key(self, node: yaml.Node, path: Path) -> Any:
        is_scalar = isinstance(node, yaml.ScalarNode)
        if is_scalar and node.tag == STR:
            return node.value
        found = f"{node.value[:40]}, which YAML reads as another type" if is_scalar else "a list or a mapping"
        self._problem(path, node, expected="a word as key", found=found)
        return str(node.value)

    def _merge(self, node: Any, path: Path) -> None:
        """`<<` written out: the keys of the mapping itself win, then those of the first mapping that is merged."""
        own = [(key, child) for key, child in node.value if key.tag != MERGE]
        taken = {key.value for key, _ in own if isinstance(key, yaml.ScalarNode)}
        for key, child in [pair for pair in node.value if pair[0].tag == MERGE]:
            for mapping in child.value if isinstance(child, yaml.SequenceNode) else [child]:
                if not isinstance(mapping, yaml.MappingNode):
                    self._problem(path, key, expected="a mapping to merge", found="something else")
                    continue
                pairs = self._flat(mapping, path)
                self._counted(len(pairs), key, path)
                fresh = [pair for pair in pairs if pair[0].value not in taken]
                taken.update(pair[0].value for pair in fresh)
                own.extend(fresh)
        node.value = own

    def _flat(self, mapping: Any, path: Path) -> list[tuple[Any, Any]]:
        if any(key.tag == MERGE for key, _ in mapping.value):
            if id(mapping) in self.open:
                raise DocumentError([Problem(path, message="a mapping merges itself", kind="syntax")])
            self.open.add(id(mapping))
            self._merge(mapping, path)
            self.open.discard(id(mapping))
        return [pair for pair in mapping.value if isinstance(pair[0], yaml.ScalarNode)]

    def _scalar(self, node: Any, path: Path) -> Any:
        if node.tag not in PLAIN:
            self._problem(path, node, expected="a plain value", found=f"the tag {node.tag}")
            return None
        if node.tag == INT and len(node.value) > MAX_DIGITS:
            self._problem(path, node, message=f"a number of {counted(len(node.value), 'character')}", kind="limit")
            return 0
        if node.tag == INT and node.value.isdecimal() and node.value[0] != "0":
            return int(node.value)
        try:
            return self.loader.construct_object(node)
        except Exception as error:
            self._problem(path, node, message=f"{node.value[:40]!r} cannot be read: {error}"[:120])
            return None

    def _plain_tag(self, node: Any, tag: str, path: Path) -> None:
        if node.tag != tag:
            self._problem(path, node, expected="a plain list or mapping", found=f"the tag {node.tag}")

    def _problem(self, path: Path, node: yaml.Node, kind: str = "syntax", **words: str) -> None:
        self.problems.append(Problem(path, mark=mark_of(node), kind=kind, **words))  # type: ignore[arg-type]


def _too_deep(path: Path, node: yaml.Node | None) -> Problem:
    limit = f"at most {MAX_DEPTH} levels of lists and mappings"
    mark = mark_of(node) if node is not None else None
    return Problem(path[:6], expected=limit, found="more", mark=mark, kind="limit")


def _syntax_problem(error: yaml.YAMLError, text: str) -> Problem:
    if isinstance(error, yaml.reader.ReaderError):
        return _control_character(text)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    said = getattr(error, "problem", None) or str(error).split("\n")[0]
    context = getattr(error, "context", None)
    message = f"not valid YAML: {said}" + (f" ({context})" if context else "")
    kind = "limit" if said == LIBYAML_LIMIT else "syntax"
    return Problem((), message=message, mark=Mark(mark.line + 1, mark.column + 1) if mark else None, kind=kind)


def _control_character(text: str) -> Problem:
    found = FORBIDDEN.search(text)
    if found is None:
        return Problem((), message="not valid YAML: a character that YAML does not allow", kind="syntax")
    before = text[: found.start()]
    mark = Mark(before.count("\n") + 1, found.start() - (before.rfind("\n") + 1) + 1)
    character = f"the control character U+{ord(found.group()):04X}"
    return Problem((), expected="readable text", found=character, mark=mark, kind="syntax")
