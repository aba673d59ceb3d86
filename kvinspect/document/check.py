"""Whether a document holds together: every layer in one group and on one tensor, every name known.

The checks read the raw value, so that they find what they can beside errors of other parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from kvinspect.document.limits import MAX_GROUPS, MAX_WORD
from kvinspect.document.names import Expander, TooManyNames
from kvinspect.document.problem import Path, Problem, nearest, shown
from kvinspect.document.spec_fields import kind_of, spec_problems
from kvinspect.document.words import WITHOUT_BACKEND


def problems(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Everything that is wrong between the parts of a document."""
    too_many = list(_group_counts(raw))
    if too_many:
        yield from too_many
        return
    yield from _specs(raw)
    yield from _masks(raw)
    try:
        layers = _Layers(raw)
    except TooManyNames as error:
        yield Problem(error.path, message=str(error), kind="limit")
        return
    yield from layers.in_groups()
    yield from layers.on_tensors()
    yield from layers.in_attention_groups()
    yield from layers.sharing()
    yield from layers.with_own_specs()
    yield from layers.without_backend()


def _group_counts(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Lists of more groups than MAX_GROUPS."""
    for keys in (("kv_cache_config", "kv_cache_groups"), ("attention_groups",), ("encoder_attention_groups",)):
        count = sum(1 for _ in _rows(raw, *keys))
        if count > MAX_GROUPS:
            yield Problem(keys, expected=f"at most {MAX_GROUPS} groups", found=str(count), at_key=True, kind="limit")


def _specs(raw: Mapping[str, Any]) -> Iterator[Problem]:
    for path, group in _rows(raw, "kv_cache_config", "kv_cache_groups"):
        if isinstance(group.get("kv_cache_spec"), Mapping):
            yield from spec_problems(group["kv_cache_spec"], (*path, "kv_cache_spec"))
    for path, group in _rows(raw, "encoder_attention_groups"):
        if isinstance(group.get("kv_cache_spec"), Mapping):
            yield from spec_problems(group["kv_cache_spec"], (*path, "kv_cache_spec"), nested=True)
    specs = raw.get("kv_cache_specs")
    for layer, spec in specs.items() if isinstance(specs, Mapping) else ():
        if isinstance(spec, Mapping):
            yield from spec_problems(spec, ("kv_cache_specs", layer), nested=True)


def _masks(raw: Mapping[str, Any]) -> Iterator[Problem]:
    """Indices that do not ascend, which are a mask in disguise or a mistake."""
    for path, request in _rows(raw, "multimodal", "requests"):
        features = request.get("mm_features")
        for i, feature in enumerate(features) if isinstance(features, list) else ():
            position = feature.get("mm_position") if isinstance(feature, Mapping) else None
            mask = position.get("is_embed") if isinstance(position, Mapping) else None
            indices = mask if isinstance(mask, list) and all(type(index) is int for index in mask) else []
            if any(a >= b for a, b in pairwise(indices)):
                place = (*path, "mm_features", i, "mm_position", "is_embed")
                hint = "a mask is a list of true and false, or runs such as 3x0 256x1"
                yield Problem(place, expected="indices that ascend", found=shown(mask), hint=hint)


MOST_SPELLINGS = 5
"""So many unknown layers get a nearest spelling, which takes a while to find."""


class _Layers:
    """The layers of a raw document, by where they are named."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw
        self.names = Expander()
        self.unknown = 0
        self.groups = self._named(("layer_names",), "kv_cache_config", "kv_cache_groups")
        self.tensors = self._named(("shared_by", "layers"), "kv_cache_config", "kv_cache_tensors")
        self.attention = self._named(("layer_names",), "attention_groups")
        shared = raw.get("shared_kv_cache_layers")
        pairs = shared.items() if isinstance(shared, Mapping) else ()
        self.shared = {a: (str(k), t) for k, t in pairs if _is_word(k) for a in self._shared_names(k)}
        self.encoder_only = {
            layer
            for _, row, layers in self.groups
            if isinstance(spec := row.get("kv_cache_spec"), Mapping) and kind_of(spec) == "encoder_only_attention"
            for layer, _ in layers
        }
        """Whether they have a cache is up to the model runner."""
        self.group_of = {layer: i for i, row in enumerate(self.groups) for layer, _ in row[2]}
        self.planned = self._planned()
        """The layers of a planning document, which have no groups yet."""

    def _planned(self) -> set[str]:
        """Checks the tensors of each worker: the layers that share have theirs on one of them."""
        specs = self.raw.get("kv_cache_specs")
        keys = list(specs) if isinstance(specs, Mapping) else []
        return {n for key in keys if _is_word(key) for n in self.names.all([key], ("kv_cache_specs", key))}

    def _shared_names(self, key: str) -> tuple[str, ...]:
        return self.names.all([key], ("shared_kv_cache_layers", key))

    def _named(
        self, keys: tuple[str, ...], *where: str
    ) -> list[tuple[Path, Mapping[str, Any], list[tuple[str, Path]]]]:
        out = []
        for path, row in _rows(self.raw, *where):
            key = next((key for key in keys if row.get(key) is not None), keys[0])
            listed = row.get(key)
            entries = [(i, n) for i, n in enumerate(listed) if _is_word(n)] if isinstance(listed, list) else []
            places = [((*path, key, i), name) for i, name in entries]
            layers = [(layer, place) for place, name in places for layer in self.names.all([name], place)]
            out.append((path, row, layers))
        return out

    def in_groups(self) -> Iterator[Problem]:
        """Layers that two KV cache groups name."""
        seen: dict[str, Path] = {}
        for _, _, layers in self.groups:
            for layer, path in layers:
                if layer in seen:
                    yield Problem(path, message=f"the layer {layer} is in a group already", kind="misplaced-layer")
                seen.setdefault(layer, path)

    def on_tensors(self) -> Iterator[Problem]:
        """Layers that two tensors hold, or none, and tensors that hold what is no layer."""
        config = self.raw.get("kv_cache_config")
        if not isinstance(config, Mapping) or config.get("kv_cache_tensors") is None:
            return
        seen: set[str] = set()
        for place, row, layers in self.tensors:
            yield from _layers_key(row, place)
            for layer, path in layers:
                if layer in seen:
                    yield Problem(path, message=f"the layer {layer} is on a tensor already", kind="misplaced-layer")
                elif layer not in self.group_of and layer not in self.shared:
                    yield self._unknown(layer, path)
                seen.add(layer)
        for layer, path in ((layer, path) for _, _, layers in self.groups for layer, path in layers):
            if layer not in seen and layer not in self.shared and layer not in self.encoder_only:
                yield Problem(path, message=f"no tensor holds the layer {layer}", kind="misplaced-layer")

    def in_attention_groups(self) -> Iterator[Problem]:
        """Attention groups whose layers are unknown, twice there, or in another KV cache group."""
        seen: set[str] = set()
        for path, row, layers in self.attention:
            group_id = row.get("kv_cache_group_id")
            if isinstance(group_id, int) and group_id >= len(self.groups):
                expected = f"a KV cache group below {len(self.groups)}"
                yield Problem((*path, "kv_cache_group_id"), expected=expected, found=str(group_id))
                continue
            for layer, place in layers:
                home = self.group_of.get(self.shared.get(layer, ("", layer))[1], self.group_of.get(layer))
                if layer in seen:
                    message = f"the layer {layer} is in an attention group already"
                    yield Problem(place, message=message, kind="misplaced-layer")
                elif layer not in self.group_of and layer not in self.shared:
                    yield self._unknown(layer, place)
                elif isinstance(group_id, int) and home is not None and home != group_id:
                    message = f"the layer {layer} is in KV cache group {home}, not {group_id}"
                    yield Problem(place, message=message, kind="misplaced-layer")
                seen.add(layer)

    def sharing(self) -> Iterator[Problem]:
        """Layers that share the cache of a layer that has none, or that is not known."""
        for alias, (key, target) in self.shared.items():
            path = ("shared_kv_cache_layers", key)
            if not isinstance(target, str):
                continue
            if target in self.shared:
                message = f"{alias} shares the cache of {target}, which has none of its own"
                yield Problem(path, message=message, kind="misplaced-layer")
            elif target not in self.group_of and target not in self.planned:
                yield self._unknown(target, path)

    def with_own_specs(self) -> Iterator[Problem]:
        """Layers of a uniform-type group without a spec of their own, and specs without a layer."""
        for path, row, layers in self.groups:
            spec = row.get("kv_cache_spec")
            inner = spec.get("kv_cache_specs") if isinstance(spec, Mapping) else None
            if not isinstance(spec, Mapping) or kind_of(spec) != "uniform_type" or not isinstance(inner, Mapping):
                continue
            written = {n: key for key in inner if _is_word(key) for n in self.names.all([key])}
            for layer, place in layers:
                if layer not in written and layer not in self.shared:
                    yield Problem(place, message=f"the layer {layer} has no spec in kv_cache_specs")
            for layer in written.keys() - {layer for layer, _ in layers}:
                place = (*path, "kv_cache_spec", "kv_cache_specs", written[layer])
                yield Problem(place, message=f"{layer} is no layer of this group", at_key=True, kind="misplaced-layer")

    def without_backend(self) -> Iterator[Problem]:
        """Attention layers that no entry gives a backend."""
        named = {layer for _, _, layers in self.attention for layer, _ in layers}
        for path, row, layers in self.groups:
            spec = row.get("kv_cache_spec")
            if row.get("backend") is not None or not isinstance(spec, Mapping) or kind_of(spec) in WITHOUT_BACKEND:
                continue
            bare = [layer for layer, _ in layers if layer not in named and layer not in self.shared]
            if bare:
                hint = "write backend: in the group, or name the layer in attention_groups"
                yield Problem(path, message=f"the layer {bare[0]} has no backend", hint=hint, kind="missing")

    def _unknown(self, layer: str, path: Path) -> Problem:
        self.unknown += 1
        near = nearest(layer, [*self.group_of, *self.planned][:500]) if self.unknown <= MOST_SPELLINGS else ""
        return Problem(path, message=f"no KV cache group has a layer {layer}", nearest=near, kind="misplaced-layer")


def _layers_key(row: Mapping[str, Any], path: Path) -> Iterator[Problem]:
    """A tensor names its layers under one of two keys."""
    written = [key for key in ("shared_by", "layers") if row.get(key) is not None]
    if not written:
        yield Problem((*path, "shared_by"), message="is missing; a tensor names its layers", kind="missing")
    elif len(written) > 1:
        yield Problem((*path, "layers"), message="is said by shared_by already", at_key=True)


def _is_word(value: Any) -> bool:
    """Whether a value is a name that can be expanded; the validation says what else it may be."""
    return isinstance(value, str) and len(value) <= MAX_WORD


def _rows(raw: Mapping[str, Any], *keys: str) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """(path, row) of each mapping in a list of the document; nothing where the document is shaped otherwise."""
    value: Any = raw
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    for i, row in enumerate(value) if isinstance(value, list) else ():
        if isinstance(row, Mapping):
            yield (*keys, i), row
