"""Every place of a file that holds arguments of vLLM, by the detector that its name chooses."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator

from kvinspect.commands.pins import in_text
from kvinspect.places.fragment import Fragment, Said
from kvinspect.places.source import of_file

BY_SUFFIX: dict[str, str] = {
    ".yaml": "yaml_file",
    ".yml": "yaml_file",
    ".json": "json_file",
    ".env": "env_file",
    ".service": "unit_file",
    ".container": "unit_file",
    ".sh": "shell",
    ".bash": "shell",
    ".zsh": "shell",
    ".slurm": "shell",
    ".sbatch": "shell",
    ".md": "markdown_file",
    ".mdx": "markdown_file",
    ".markdown": "markdown_file",
    ".py": "python_file",
    ".ipynb": "notebook_file",
    ".dockerfile": "dockerfile",
}
"""Ending of a file's name → the module of this room that reads it."""

BY_NAME: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:Docker|Container)file(?:[.-].*)?"), "dockerfile"),
    (re.compile(r"\.env(?:\..*)?|.*\.env\.[\w-]+"), "env_file"),
)
"""What a file is called → the module that reads it; asked before the endings."""

TEMPLATES = (".j2", ".tpl", ".tmpl", ".gotmpl")
"""Endings of templates, which are read as what the name has before them."""


def reader_of(name: str) -> str | None:
    """The module that reads a file of this name, None where none does."""
    base, ending = os.path.splitext(os.path.basename(name))
    if ending.lower() in TEMPLATES:
        base, ending = os.path.splitext(base)
    named = base + ending
    by_name = next((module for pattern, module in BY_NAME if pattern.fullmatch(named)), None)
    return by_name or BY_SUFFIX.get(ending.lower())


def detect(text: str, name: str) -> Iterator[Fragment]:
    """The places of a text, in their order; none where no detector reads files of this name.

    A place that names no release has that of the nearest `vllm==…` above it in the text, else of the first below.
    """
    module = reader_of(name)
    if module is None:
        return
    pins = None
    for found in importlib.import_module(f"kvinspect.places.{module}").find(text, name):
        if found.release is None:
            source = of_file(text)
            pins = [Said(release, "pip pin", source.at(at)) for at, release in in_text(text)] if pins is None else pins
            found = found._replace(release=_nearest(pins, found))
        yield found


def _nearest(pins: list[Said], fragment: Fragment) -> Said | None:
    """The last pin above a place, else the first one."""
    at = fragment.begins
    above = [pin for pin in pins if pin.mark is not None and pin.mark <= at]
    return above[-1] if above else next(iter(pins), None)
