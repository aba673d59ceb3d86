"""A page as GitHub Markdown, for a pull request or a ticket."""

from __future__ import annotations

import re

from kvinspect.output.safe import safe
from kvinspect.report.page_parts import Block, Heading, Item, Page, Paragraph, Picture, Spans, Table

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&@]|:(?=//|\w+:))")
_MARKS = {"strong": "**", "bad": "**", "changed": "*"}


def render(page: Page) -> str:
    """The page as Markdown; foreign text cannot become markup."""
    return "\n\n".join(_block(block) for block in page.blocks) + "\n"


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        right = f" — {_line(block.right)}" if block.right else ""
        return f"### {_line(block.left)}{right}"
    if isinstance(block, Paragraph):
        return _line(block.text)
    if isinstance(block, Item):
        return f"- {escaped(block.mark)} {_line(block.text)}" if block.mark != "•" else f"- {_line(block.text)}"
    if isinstance(block, Picture):
        return _fenced("\n".join("".join(safe(span.text) for span in line) for line in block.lines))
    return _table(block)


def _fenced(text: str) -> str:
    """Text as it stands, behind a fence that is longer than any in it."""
    fence = "`" * max(3, *(len(found) + 1 for found in re.findall("`+", text)), 3)
    return f"{fence}text\n{text}\n{fence}"


def _table(block: Table) -> str:
    rows = [[escaped(column.name) for column in block.columns], ["---"] * len(block.columns)]
    rows += [["<br>".join(_line(line) for line in lines) for lines in row] for row in block.rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _line(line: Spans) -> str:
    out = ""
    for span in line:
        mark = _MARKS.get(span.style, "") if span.text.strip() else ""
        out += f"{mark}{escaped(span.text)}{mark}"
    return out.replace("****", "").strip()


def escaped(text: str) -> str:
    """Foreign text with every character escaped that Markdown or HTML would read."""
    return _SPECIAL.sub(lambda found: _escape(found[1]), safe(text))


def _escape(char: str) -> str:
    entities = {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;", ":": "&#58;"}
    return entities.get(char, "\\" + char)
