"""The JSON Schema of an inspection document, and the words for what it expects at a place."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from kvinspect.document.problem import Path
from kvinspect.document.spec_fields import FIELDS, NAMING
from kvinspect.document.words import KIND_OF_WORD

_BRANCH_LABEL = re.compile(r"(constrained-)?(int|str|bool|float|list|dict|nullable|function-before)\b.*")
SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"


@cache
def plain_schema() -> dict[str, Any]:
    """The schema as pydantic writes it: one shape for specs of all kinds."""
    from pydantic import TypeAdapter

    from kvinspect.document.model import DocumentModel

    return TypeAdapter(DocumentModel).json_schema()


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a document, for editors and validators; keywords stay within draft 7 but for `$defs`."""
    schema = {**plain_schema(), "title": "kvinspect inspection document"}
    definitions = dict(schema["$defs"])
    fields = definitions["SpecEntry"]["properties"]
    definitions["SpecEntry"] = {
        "description": "a KV cache spec, by kind or by vLLM's class name",
        "oneOf": [_spec_of_kind(kind, fields) for kind in FIELDS],
    }
    return {"$schema": SCHEMA_ID, **schema, "$defs": definitions}


def _spec_of_kind(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    required, optional = FIELDS[kind]
    words = {"enum": [word for word, named in KIND_OF_WORD.items() if named == kind]}
    properties = {"kind": words, "type": words, "backend": fields["backend"]}
    properties |= {name: fields[name] for name in (*required, *optional) if name not in NAMING}
    return {
        "title": kind,
        "type": "object",
        "properties": properties,
        "required": list(required),
        "anyOf": [{"required": ["kind"]}, {"required": ["type"]}],
        "additionalProperties": False,
    }


def follow(location: Path) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """(path, schema there, schema of its parent) of a location as pydantic reports it.

    pydantic names the branch of a union that it tried, which is no part of the document: it is left out.
    """
    path: list[str | int] = []
    parent: dict[str, Any] = {}
    node = _resolved(plain_schema())
    for part in location:
        branches = _branches(node)
        if len(branches) > 1 and isinstance(part, str) and _BRANCH_LABEL.fullmatch(part):
            continue
        below = [found for branch in branches if (found := _step(branch, part)) is not None]
        if below:
            parent, node = next(b for b in branches if _step(b, part) is not None), below[0]
            path.append(part)
        elif len(branches) < 2:
            parent, node = branches[0], {}
            path.append(part)
    return tuple(path), node, parent


def expected(node: dict[str, Any]) -> str:
    """What a schema takes, in words: `an integer > 0`, `one of cuda, rocm, xpu, cpu`."""
    phrases = list(dict.fromkeys(_phrase(branch) for branch in _branches(node)))
    phrases = [p for p in phrases if p != "null"] or phrases
    text = " or ".join(phrases) if phrases else "something else"
    described = node.get("description", "")
    return f"{text} ({described})" if described and "pattern" in str(node) else str(text)


def choices(node: dict[str, Any]) -> list[str]:
    """The words that a schema names one by one."""
    return [word for branch in _branches(node) for word in branch.get("enum", []) if isinstance(word, str)]


def _phrase(node: dict[str, Any]) -> str:
    if "enum" in node or "const" in node:
        taken = node.get("enum") or [node["const"]]
        return "one of " + ", ".join(str(word) for word in taken) if len(taken) > 1 else str(taken[0])
    kind = node.get("type")
    if kind == "integer":
        bounds = {"exclusiveMinimum": ">", "minimum": ">="}
        limits = [f"{sign} {node[key]}" for key, sign in bounds.items() if key in node]
        return " ".join(["an integer", *limits])
    if kind == "array":
        return f"a list of {_plural(node.get('items', {}))}"
    words = {
        "string": "a word",
        "boolean": "true or false",
        "object": "a mapping",
        "null": "null",
        "number": "a number",
    }
    return words.get(str(kind), "a value")


def _plural(items: dict[str, Any]) -> str:
    kinds = {b.get("type") for b in _branches(_resolved(items))}
    words = {"integer": "integers", "string": "words", "array": "lists", "object": "mappings", "boolean": "true/false"}
    return " or ".join(sorted(words.get(str(kind), "values") for kind in kinds))


def _step(node: dict[str, Any], part: str | int) -> dict[str, Any] | None:
    if isinstance(part, int):
        return _resolved(node["items"]) if "items" in node else None
    if part in node.get("properties", {}):
        return _resolved(node["properties"][part])
    extra = node.get("additionalProperties")
    return _resolved(extra) if isinstance(extra, dict) else None


def _branches(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The branches of a union, those of its branches too; null counts only where it is alone."""
    options = node.get("anyOf") or node.get("oneOf")
    if not options:
        return [node]
    branches = [b for option in options for b in _branches(_resolved(option))]
    return [b for b in branches if b.get("type") != "null"] or branches


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    reference = node.get("$ref")
    if not reference:
        return node
    target: dict[str, Any] = plain_schema()["$defs"][reference.rsplit("/", 1)[-1]]
    return target
