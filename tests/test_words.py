"""No sentence that a user reads has a word or phrase that the project has left behind for a plainer one."""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterator

import pytest

from conftest import ROOT

LEFT_OUT = {
    r"hangs? on|hanging on": "depends on",
    r"who sees whom": "attention mask",
    r"does not take|is no flag of|of none that": "does not support, is not a flag of",
    r"first on the release's list": "highest-priority backend that supports",
    r"always so": "unconditional",
    r"requests at once": "concurrent requests",
    r"left empty": "unused",
    r"told offline": "predicted offline",
    r"does so rightly": "is justified",
    r"(?:is|are|be) let pass|lets pass": "accepted and ignored",
    r"of its files skipped": "skipped 1 file",
    r"is no file or folder here": "not found locally",
    r"free of it": "unaffected releases",
    r"decided again|aligned again": "re-evaluated",
    r"cut anew": "re-sharded",
    r"who(?:m|so)?ever|somebody|nobody": "the subject by its name",
    r"what is none|that is none|the one … the other": "invalid",
    r"comes? about": "results",
    r"attends? both ways": "bidirectional",
    r"stands? beside": "is mixed with",
    r"of one layout": "with the same layout",
    r"\w*(?:quant|util|optim|recogn|initial|canonical|material|normal|serial)is(?:e|ed|es|ing|ation)\b": "-ize",
    r"\w*(?:behaviour|neighbour|colour|favour)\w*": "American spelling",
}
KEYS = {"materialised", "quantised"}
"""Names in JSON that stay as they are, and of functions."""


def sentences(file: pathlib.Path) -> Iterator[tuple[int, str]]:
    """The texts of a module that it may show, docstrings left out, or the lines of a page; each with its line."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".md":
        yield from enumerate(text.splitlines(), 1)
        return
    tree = ast.parse(text)
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.lineno, node.value


def left_out(text: str) -> list[str]:
    """The phrases of a text that have a plainer one."""
    found = [match[0] for phrase in LEFT_OUT for match in re.finditer(rf"\b(?:{phrase})", text)]
    return [phrase for phrase in found if phrase not in KEYS]


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
MODULES = sorted((ROOT / "kvinspect").rglob("*.py"))


@pytest.mark.parametrize("files", [MODULES, PAGES], ids=["program", "pages"])
def test_no_sentence_has_a_phrase_that_was_left_behind(files):
    assert len(files) > 20
    found = [
        f"{file.relative_to(ROOT)}:{line}: {phrase}"
        for file in files
        for line, text in sentences(file)
        for phrase in left_out(text)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("the mode hangs on the device", ["hangs on"]),
        ("layers left unquantised", ["unquantised"]),
        ("materialised", []),
        ("it does not take part", ["does not take"]),
        ("layers of one layout group", ["of one layout"]),
        ("the mode depends on the device", []),
    ],
)
def test_a_phrase_is_found_where_it_stands(text, found):
    assert left_out(text) == found
