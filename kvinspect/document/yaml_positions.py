"""Where the values of a YAML text stand: PyYAML's nodes know where they begin."""

from __future__ import annotations

import yaml

from kvinspect.document.problem import Mark, Path


class YamlPositions:
    """Positions of paths, found in the composed nodes on first use."""

    def __init__(self, root: yaml.Node | None) -> None:
        self.root = root

    def locate(self, path: Path, at_key: bool) -> Mark | None:
        """See `Positions.locate`. A value that an alias repeats is placed at its key, where the alias stands."""
        node, mark = self.root, mark_of(self.root) if self.root else None
        for depth, part in enumerate(path):
            key, child = _child(node, part)
            if child is None:
                break
            node = child
            aliased = key is not None and child.start_mark.index < key.start_mark.index
            wants_key = at_key and depth == len(path) - 1
            mark = mark_of(key) if key is not None and (aliased or wants_key) else mark_of(child)
        return mark

    def written(self, path: Path) -> str | None:
        """See `Positions.written`."""
        node = self.root
        for part in path:
            node = _child(node, part)[1]
        is_plain = isinstance(node, yaml.ScalarNode) and not node.style
        return str(node.value) if is_plain and node is not None else None


def _child(node: yaml.Node | None, part: str | int) -> tuple[yaml.Node | None, yaml.Node | None]:
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    if isinstance(node, yaml.MappingNode):
        for key, child in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == str(part):
                return key, child
    return None, None


def mark_of(node: yaml.Node) -> Mark:
    """Where a node begins, counted from 1."""
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)
