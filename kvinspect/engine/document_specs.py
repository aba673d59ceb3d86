"""KV cache specs as a release knows them: the document's entries with the release's defaults filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvinspect.document.document import Group
from kvinspect.document.model import SpecEntry
from kvinspect.document.problem import Path
from kvinspect.document.refusal import Refused, Unknown
from kvinspect.document.spec_fields import FIELDS, MARKS
from kvinspect.document.words import SPEC_CLASSES
from kvinspect.specs.kinds import GroupSpec, LayerSpec, class_of
from kvinspect.specs.mamba import MambaSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs


def group_spec(group: Group, catalogue: Mapping[str, Any]) -> GroupSpec:
    """The spec of a KV cache group in a release. Raises Refused where the release's classes do not take it."""
    path = (*group.path, "kv_cache_spec")
    entry = group.spec
    kind = entry.spec_kind
    if kind != "uniform_type":
        return _viewed(layer_spec(entry, catalogue, path), path)
    _check_fields(kind, _given(kind, entry), catalogue, path)
    inner = [
        (layer, _viewed(layer_spec(spec, catalogue, inside := (*path, "kv_cache_specs", layer)), inside))
        for layer, spec in group.layer_specs.items()
    ]
    return UniformTypeSpecs(entry.block_size or inner[0][1].block_size, tuple(inner))


def _viewed(spec: LayerSpec, path: Path) -> LayerSpec:
    """A spec whose layers get views. Raises Unknown for another: only its kernels know what lies on raw pages."""
    if not spec.has_views:
        expected = (
            "a kind whose layers have views; what HiSparse keeps in pages of a finished cache is not modelled, "
            "so that they may stand in a planning document only"
        )
        raise Unknown((*path, "kind"), spec.kind, expected, kind="raw-pages")
    return spec


def layer_spec(entry: SpecEntry, catalogue: Mapping[str, Any], path: Path) -> LayerSpec:
    """The spec of one layer in a release. Raises Refused where the release's class does not take it."""
    kind = entry.spec_kind
    given = _given(kind, entry)
    cls = class_of(kind)
    if cls.latent:
        given.setdefault("num_kv_heads", 1)
    _check_fields(kind, given, catalogue, path)
    if cls.holds_states:
        return _mamba(given, catalogue, path)
    if not cls.is_attention:
        return _made(cls, kind, {name: value for name, value in given.items() if name not in MARKS})
    given = _renamed(given)
    if "kv_quant_mode" in given:
        given["kv_quant_mode"] = _enum(given["kv_quant_mode"], catalogue["kv_quant_modes"], (*path, "kv_quant_mode"))
    made: LayerSpec = cls.of_fields(kind, given, says_v="state_content_bytes" in _fields(kind, catalogue))
    return made


def _made(cls: Any, kind: str, fields: Mapping[str, Any]) -> LayerSpec:
    found: LayerSpec = cls(kind, **fields)
    return found


def _given(kind: str, entry: SpecEntry) -> dict[str, Any]:
    """The fields that a written spec of a kind says."""
    return {name: value for field in FIELDS[kind] for name in field if (value := getattr(entry, name)) is not None}


RENAMED = {"tokens_per_state": "compress_ratio", "storage_block_size": "view_block_size"}
"""What newer releases call a field → what it is called here."""


def _renamed(given: dict[str, Any]) -> dict[str, Any]:
    """The fields of an attention spec as they are called here, those that move no byte put together."""
    if isinstance(given.get("tokens_per_state"), str):
        from fractions import Fraction

        given["tokens_per_state"] = Fraction(given["tokens_per_state"])
    marks = _marks(given)
    return {RENAMED.get(key, key): value for key, value in given.items() if key not in MARKS} | marks


def _marks(given: Mapping[str, Any]) -> dict[str, Any]:
    said = {key: value for key, value in given.items() if key in MARKS and value not in (None, False, 0, "sparse")}
    found = tuple(sorted((key, value) for key, value in said.items() if key != "is_draft"))
    return {"marks": found} if found else {}


def field_of(spec: LayerSpec, name: str) -> Any:
    """The value of a field that a release's class calls `name`; None for one that says nothing of the cache."""
    if name in MARKS:
        return spec.marks_by_name.get(name)
    return getattr(spec, RENAMED.get(name, name) if spec.is_attention else name, None)


def _mamba(given: dict[str, Any], catalogue: Mapping[str, Any], path: Path) -> MambaSpec:
    words = [entry["mamba_type"] for entry in catalogue["backends"].values() if "mamba_type" in entry]
    default = catalogue["spec_classes"]["MambaSpec"]["defaults"]["mamba_type"]
    given["mamba_type"] = _enum(
        given.get("mamba_type", default), dict(zip(words, words, strict=True)), (*path, "mamba_type")
    )
    given["shapes"] = tuple(tuple(shape) for shape in given["shapes"])
    given["dtypes"] = tuple(given["dtypes"])
    given.pop("dcp_sharded", None)  # a state is whole on every rank, whatever is said
    marks = _marks(given)
    return MambaSpec(**{key: value for key, value in given.items() if key not in MARKS} | marks)


def _fields(kind: str, catalogue: Mapping[str, Any]) -> list[str]:
    classes = catalogue["spec_classes"]
    known = classes.get(SPEC_CLASSES[kind], {"required": [], "optional": []})
    return [*known["required"], *known["optional"]]


def _check_fields(kind: str, given: dict[str, Any], catalogue: Mapping[str, Any], path: Path) -> None:
    name, release = SPEC_CLASSES[kind], catalogue["release"]
    if name not in catalogue["spec_classes"]:
        raise Refused("AttributeError", f"vLLM {release} has no {name}", stage="spec", path=path)
    for field in given:
        if field not in _fields(kind, catalogue):
            text = f"{name} of vLLM {release} has no field {field}"
            raise Refused("TypeError", text, stage="spec", path=(*path, field))


def _enum(value: str | int, members: Mapping[str, Any], path: Path) -> str:
    """The name of an enum's member, given by name, alias or number."""
    wanted = members.get(value, value) if isinstance(value, str) else value
    for name, number in members.items():
        if wanted in (name, number):
            return name
    error = "KeyError" if isinstance(value, str) else "ValueError"
    raise Refused(error, f"{value} is none of {', '.join(members)}", stage="spec", path=path)
