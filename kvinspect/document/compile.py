"""The validator of a document, made of the classes in `model.py`.

pydantic compiles the classes to a core schema, which its Rust core runs. Compiling imports 80 ms worth of pydantic and
is the same every time, so the result is kept as data in `compiled.json`: starting then costs 5 ms. A core that does not
understand the data (another pydantic) gets a freshly compiled schema. `python -m kvinspect.document.compile` writes the
file; a test holds it against the classes.
"""

from __future__ import annotations

import importlib
import json
import pathlib
from functools import cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator

COMPILED = pathlib.Path(__file__).with_name("compiled.json")
REFERENCE = "$python"
REFS = ("ref", "schema_ref")


@cache
def validator() -> SchemaValidator:
    """Validates the value of a document and returns a `DocumentModel`; raises pydantic_core.ValidationError."""
    try:
        return SchemaValidator(_decoded(json.loads(COMPILED.read_text(encoding="utf-8"))))
    except (OSError, SchemaError, AttributeError, TypeError):
        return SchemaValidator(core_schema())


def core_schema() -> Any:
    """The core schema of `DocumentModel`, compiled by pydantic."""
    from pydantic import TypeAdapter

    from kvinspect.document.model import DocumentModel

    return TypeAdapter(DocumentModel).core_schema


def encoded(node: Any) -> Any:
    """A core schema as JSON: a class or a function becomes its address, what only pydantic's own tools read goes."""
    if isinstance(node, dict):
        return {
            key: _name(value) if key in REFS else encoded(value) for key, value in node.items() if key != "metadata"
        }
    if isinstance(node, (list, tuple)):
        return [encoded(value) for value in node]
    if callable(node):
        return {REFERENCE: f"{node.__module__}:{node.__qualname__}"}
    return node


def _name(reference: str) -> str:
    """A class's name in place of pydantic's, which ends with an address in memory."""
    return reference.rpartition(".")[2].partition(":")[0]


def _decoded(node: Any) -> Any:
    if isinstance(node, list):
        return [_decoded(value) for value in node]
    if not isinstance(node, dict):
        return node
    if REFERENCE in node:
        module, _, name = node[REFERENCE].partition(":")
        return getattr(importlib.import_module(module), name)
    return {key: _decoded(value) for key, value in node.items()}


def compiled_text() -> str:
    """What `compiled.json` has to hold."""
    return json.dumps(encoded(core_schema()), separators=(",", ":")) + "\n"


if __name__ == "__main__":
    COMPILED.write_text(compiled_text(), encoding="utf-8")
