"""The class of each kind, found by the kind's name, and what a spec of any kind is to the type checker."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Any

from kvinspect.document.words import SPEC_CLASSES
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.layer_spec import LayerSpec, ViewedSpec
from kvinspect.specs.uniform_type import UniformTypeSpecs

__all__ = ["GroupSpec", "LayerSpec", "Specs", "ViewedSpec", "attention", "class_of", "recast"]

GroupSpec = LayerSpec | UniformTypeSpecs
Specs = Mapping[str, LayerSpec]
"""Layer name → its spec, in the engine's order."""


@cache
def class_of(kind: str) -> Any:
    """The class of a kind, whose module is imported when the kind is asked for first."""
    return getattr(importlib.import_module(f"kvinspect.specs.{kind}"), SPEC_CLASSES[kind])


def attention(kind: str, **fields: Any) -> AttentionSpec:
    """The spec of an attention layer of a kind."""
    found: AttentionSpec = class_of(kind)(kind, **fields)
    return found


def recast(spec: AttentionSpec, kind: str, **changes: Any) -> AttentionSpec:
    """A spec as one of another kind, with all its fields but those that change."""
    found: AttentionSpec = class_of(kind)._make(spec._replace(kind=kind, **changes))
    return found
