"""A KV cache spec of the engine as a document writes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from typing import Any

from kvinspect.document.spec_fields import FIELDS
from kvinspect.document.words import KIND_OF_WORD, dtype_word


def spec_entry(spec: Any) -> dict[str, Any]:
    """The spec of a layer or a group: its kind, and every field of that kind that is not as the class has it.

    Raises LookupError for a class that no kind of a document is like.
    """
    kind = _kind(spec)
    if kind == "uniform_type":
        inner = {layer: spec_entry(one) for layer, one in spec.kv_cache_specs.items()}
        return {"kind": kind, "block_size": spec.block_size, "kv_cache_specs": inner}
    required, optional = FIELDS[kind]
    usual = {field.name: field.default for field in dataclasses.fields(spec)}
    entry: dict[str, Any] = {"kind": kind}
    for name in (*required, *optional):
        value = getattr(spec, name) if name in usual else None
        if value is not None and (name in required or value != usual[name]):
            entry[name] = plain(value)
    if entry.get("head_size_v") == entry.get("head_size"):
        entry.pop("head_size_v", None)
    return entry


def _kind(spec: Any) -> str:
    for cls in type(spec).__mro__:
        if cls.__name__ in KIND_OF_WORD:
            return KIND_OF_WORD[cls.__name__]
    raise LookupError(f"no kind of a document is like {type(spec).__name__}")


def plain(value: Any) -> Any:
    """A value of the engine as a file can hold it: an enum's name, a dtype's word, lists for tuples, `16n`, `1/2`.

    Raises TypeError for any other object, whose text could be anything.
    """
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if type(value).__name__ == "MultipleOf":
        return f"{value.base}n"
    if isinstance(value, (str, Fraction)) or type(value).__name__ == "dtype":
        return dtype_word(str(value))
    raise TypeError(f"a document cannot hold a {type(value).__name__}")


def if_there(read: Callable[[], Any]) -> Any:
    """What an engine has, None where it has no such thing."""
    try:
        return read()
    except Exception:
        return None
