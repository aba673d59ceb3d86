"""Every place of a file that holds arguments of vLLM, by the detector that its name chooses."""

from __future__ import annotations

import importlib
import pathlib
import re
from collections.abc import Iterator

from kvinspect.places.fragment import Fragment

BY_SUFFIX: dict[str, str] = {
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

BY_NAME: tuple[tuple[re.Pattern[str], str], ...] = ((re.compile(r"(?:Docker|Container)file(?:[.-].*)?"), "dockerfile"),)
"""What a file is called → the module that reads it; asked before the endings."""


def reader_of(name: str) -> str | None:
    """The module that reads a file of this name, None where none does."""
    path = pathlib.PurePath(name)
    by_name = next((module for pattern, module in BY_NAME if pattern.fullmatch(path.name)), None)
    return by_name or BY_SUFFIX.get(path.suffix.lower())


def detect(text: str, name: str) -> Iterator[Fragment]:
    """The places of a text, in their order; none where no detector reads files of this name."""
    module = reader_of(name)
    if module is not None:
        yield from importlib.import_module(f"kvinspect.places.{module}").find(text, name)
