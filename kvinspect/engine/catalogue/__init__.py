"""What each release's backends and specs answer, as data: one JSON file a release, written by `tools/catalogue.py`."""

from __future__ import annotations

import json
import pathlib
from functools import cache
from typing import Any

from kvinspect import installed

INSTALLED = "+installed"
"""Behind a version: the rules of that release, on the answers of the classes of the vLLM that is installed."""

FOLDER = pathlib.Path(__file__).parent


@cache
def versions() -> tuple[str, ...]:
    """The releases that the catalogue knows, oldest first."""
    found = [path.stem for path in FOLDER.glob("*.json")]
    return tuple(sorted(found, key=lambda version: [int(part) for part in version.split(".")]))


@cache
def read(version: str) -> dict[str, Any]:
    """The catalogue of a release that `versions` names, or with `+installed` behind it what the installed vLLM answers.

    Raises NotAsked where the installed vLLM cannot be asked.
    """
    if version.endswith(INSTALLED):
        return {**installed.catalogue(), "release": version}
    found: dict[str, Any] = json.loads((FOLDER / f"{version}.json").read_text(encoding="utf-8"))
    return found
