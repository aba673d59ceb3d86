"""What the backends and specs of each release answer: `catalogue.json`, written by `tools/catalogue.py`."""

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
    found = [path.name for path in FOLDER.iterdir() if (path / "catalogue.json").is_file()]
    return tuple(sorted(found, key=lambda version: [int(part) for part in version.split(".")]))


@cache
def read(version: str) -> dict[str, Any]:
    """The catalogue of a release that `versions` names, or with `+installed` behind it what the installed vLLM answers.

    Raises NotAsked where the installed vLLM cannot be asked.
    """
    if version.endswith(INSTALLED):
        return {**installed.catalogue(), "release": version}
    return read_file(version, "catalogue")


def read_file(version: str, name: str) -> dict[str, Any]:
    """A file of a release's data, by its name without the ending."""
    found: dict[str, Any] = json.loads((FOLDER / version / f"{name}.json").read_text(encoding="utf-8"))
    return found
