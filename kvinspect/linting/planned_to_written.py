"""Where the entries of a cache that was planned stand in the planning document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvinspect.document.document import Document
from kvinspect.document.names import Expander
from kvinspect.document.problem import Path
from kvinspect.question.question import Question


def places_in(question: Question) -> Callable[[Path], Path]:
    """Where an entry of the cache that rules are asked about stands in the document that the question is of."""
    made, written = question.about, question.document
    if made is not question:
        return _Places(made.document, written).of
    if question.can_be_planned:
        return lambda path: _kept(path, written.source.value)
    return lambda path: path


def _kept(path: Path, written: Mapping[str, Any]) -> Path:
    """An entry that the planning document has as well, else its layers as a whole."""
    return path if path and path[0] in written else ("kv_cache_specs",)


class _Places:
    """Where the entries of a document that was made stand in the planning document that it was made of."""

    def __init__(self, made: Document, written: Document) -> None:
        self.made, self.raw = made, written.source.value
        names = Expander()
        self.keys: Mapping[str, str] = {
            layer: key for key in written.model.kv_cache_specs or {} for layer in names.all([key])
        }

    def of(self, path: Path) -> Path:
        """The entry of the layers for what is said of a group, the same entry for what both documents have."""
        if path[:2] == ("kv_cache_config", "kv_cache_groups") and len(path) > 2:
            group = self.made.groups[int(path[2])]
            key = self.keys.get(group.layer_names[0], "") if group.layer_names else ""
            return self._inside(("kv_cache_specs", key), path[-1:])
        if path[:1] == ("attention_groups",) and len(path) > 1:
            entry = (self.made.model.attention_groups or [])[int(path[1])]
            first = Expander().all(entry.layer_names)[0]
            return self._inside(("kv_cache_specs", self.keys.get(first, "")), path[-1:])
        return _kept(path, self.raw)

    def _inside(self, path: Path, field: Path) -> Path:
        spec = self.raw["kv_cache_specs"].get(path[1])
        if spec is None:
            return path[:1]
        return (*path, *field) if field and field[0] in spec else path
