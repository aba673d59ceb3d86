"""The pages of rules: Markdown files, in the package once it is installed, under `docs/rules/` before."""

from __future__ import annotations

import pathlib
from functools import cache

INSTALLED = pathlib.Path(__file__).parent / "pages"
IN_CHECKOUT = pathlib.Path(__file__).parents[2] / "docs" / "rules"


@cache
def page(code: str) -> str:
    """The page of a rule, "" where it is not there."""
    for folder in (INSTALLED, IN_CHECKOUT):
        path = folder / f"{code}.md"
        if path.is_file():
            return path.read_text(encoding="utf-8")
    return ""
