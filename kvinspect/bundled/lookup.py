"""The bundled models: found by name, read only when a name is asked for."""

from __future__ import annotations

import json
import pathlib
from functools import cache
from typing import Any, NamedTuple

from kvinspect.document.problem import nearest

TABLE = pathlib.Path(__file__).parent / "models.tsv"


class NamedConfig(NamedTuple):
    """A model's config.json under the model's name; `source` is a phrase that says where it is from."""

    name: str
    text: str
    source: str
    beside: str = ""
    """The text of the hf_quant_config.json beside it, where there is one."""

    @property
    def config(self) -> dict[str, Any]:
        """The configuration."""
        found: dict[str, Any] = json.loads(self.text)
        return found


class Ambiguous(ValueError):
    """A name without an organization that several models have."""


@cache
def _rows() -> tuple[str, dict[str, str]]:
    """(when the table was made, folded name → line)."""
    head, *lines = TABLE.read_text(encoding="utf-8").splitlines()
    return head.rpartition(" ")[2], {line.partition("\t")[0].lower(): line for line in lines}


def bundled_names() -> tuple[str, ...]:
    """The names of all bundled models."""
    return tuple(line.partition("\t")[0] for line in _rows()[1].values())


def bundled(name: str) -> NamedConfig | None:
    """The model of a name; the organization may be left out, and case does not count.

    Raises Ambiguous where several organizations have a model of the name.
    """
    collected, rows = _rows()
    word = name.lower()
    found = rows.get(word) or _without_organization(word, rows)
    if found is None:
        return None
    called, source, commit, text = found.split("\t")
    at = f" {commit}" if source.endswith("-core") or source == "litgpt" else f" at {commit}" if commit != "-" else ""
    return NamedConfig(called, text, f"the facts of {called} that come with kvinspect (from {source}{at}, {collected})")


def _without_organization(word: str, rows: dict[str, str]) -> str | None:
    if "/" in word or not word:
        return None
    found = [line for key, line in rows.items() if key.partition("/")[2] == word]
    if len(found) > 1:
        names = ", ".join(line.partition("\t")[0] for line in found)
        raise Ambiguous(f"several models have this name: {names}")
    return found[0] if found else None


def near_name(name: str) -> str:
    """The bundled name that is spelled most like `name`, empty where none is near."""
    names = bundled_names()
    return nearest(name, names) or nearest(name, [one.partition("/")[2] for one in names])
