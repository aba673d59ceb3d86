"""Answers as data: JSON and YAML, with nothing in them that a terminal would act on."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from kvinspect.engine.answer import SCHEMA_VERSION


def together(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """One object for the answers of a call: the answer itself, or all of them under `answers`."""
    if len(answers) == 1:
        return answers[0]
    return {"schema_version": SCHEMA_VERSION, "answers": list(answers)}


_NUMBERS = re.compile(r"\[\s+(-?\d+(?:,\s+-?\d+)*)\s+\]")


def as_json(value: Any) -> str:
    """JSON, ASCII only, a list of numbers on one line."""
    text = json.dumps(value, indent=2)
    return _NUMBERS.sub(lambda found: "[" + ", ".join(found[1].replace(",", " ").split()) + "]", text) + "\n"


def as_yaml(value: Any) -> str:
    """YAML, ASCII only, keys in their order."""
    import yaml

    return yaml.dump(value, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, width=120)
