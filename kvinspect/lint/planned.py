"""A planning document as rules see it: the cache that the release's planner makes of it, or where the planner stops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvinspect.document.document import Document
from kvinspect.document.load import load
from kvinspect.document.names import Expander
from kvinspect.document.problem import Path
from kvinspect.engine.answer import Setting
from kvinspect.lint.subject import Planned, Subject
from kvinspect.planning.inspection import inspection_document
from kvinspect.planning.run import plan_document
from kvinspect.releases.release import Release


def planned(document: Document, release: Release) -> Planned:
    """The cache of a planning document, or the document with the planner's refusal."""
    model = document.model
    setting = Setting(
        source=document.source.name,
        engine=release.version,
        release=release.version,
        engine_source="document",
        model_runner=model.model_runner,
        platform=model.platform,
        device_capability=model.device_capability,
        kv_cache_layout=model.kv_cache_layout,
        num_blocks=0,
    )
    answer = plan_document(document, release, setting)
    if answer.refusal is not None:
        written = document.source.value
        return Planned(Subject(document, release, answer.refusal), lambda path: _kept(path, written))
    made = load(inspection_document(answer), document.source.name)
    return Planned(Subject(made, release), _Places(made, document).of)


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
