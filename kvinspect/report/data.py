"""Answers as data: JSON and YAML, with nothing in them that a terminal would act on."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from kvinspect.engine.align_answer import SCHEMA_VERSION
from kvinspect.output.safe import holds_command


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
    """YAML, ASCII only, keys in their order, each scalar on one line.

    A scalar that a CI runner could take for a command, wherever in a line it comes to stand, is double-quoted: there
    a character can be written as an escape, and no line of a folded text begins with foreign words.
    """
    import yaml

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        pass

    def text(dumper: Any, value: str) -> Any:
        quoted = not value.isprintable() or holds_command(value)
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"' if quoted else None)

    Dumper.add_representer(str, text)
    # What a document holds is frozen: lists and mappings of classes of their own.
    Dumper.add_multi_representer(list, yaml.SafeDumper.represent_list)
    Dumper.add_multi_representer(dict, yaml.SafeDumper.represent_dict)
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, width=sys.maxsize >> 33))
