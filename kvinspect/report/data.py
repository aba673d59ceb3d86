"""Answers as data: JSON and YAML, with nothing in them that a terminal would act on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kvinspect.engine.answer import SCHEMA_VERSION


def together(answers: Sequence[dict[str, Any]], several: bool) -> dict[str, Any]:
    """One object for the answers of a call: the answer itself, or `answers` where it asked about several documents."""
    if len(answers) == 1 and not several:
        return answers[0]
    return {"schema_version": SCHEMA_VERSION, "answers": list(answers)}


def as_json(value: Any) -> str:
    """JSON, ASCII only, a list of numbers on one line."""
    return _written(value, "\n") + "\n"


def _written(value: Any, line: str) -> str:
    """A value as JSON; `line` is a line break with the indentation of where it stands."""
    if not value or not isinstance(value, (dict, list)):
        return json.dumps(value)
    if isinstance(value, list) and all(type(item) is int for item in value):
        return json.dumps(value)
    inner = line + "  "
    if isinstance(value, list):
        return "[" + inner + f",{inner}".join(_written(item, inner) for item in value) + line + "]"
    pairs = (f"{json.dumps(key)}: {_written(item, inner)}" for key, item in value.items())
    return "{" + inner + f",{inner}".join(pairs) + line + "}"


def as_yaml(value: Any) -> str:
    """YAML, ASCII only, keys in their order."""
    import yaml

    return yaml.dump(value, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, width=120)
