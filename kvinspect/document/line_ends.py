"""Where the lines of a text end, and what a comment in one is; the reading of comments is `yaml_comments`."""

from __future__ import annotations

import re
from typing import NamedTuple

from kvinspect.document.problem import Mark

JSON_LINE_END = re.compile(r"\n")
YAML_LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""What ends a line, as the two parsers count them."""


class Comment(NamedTuple):
    """A comment from its `#` to the end of the line."""

    mark: Mark
    text: str
    is_alone: bool
    """Whether nothing but blanks stands before it on its line."""
    at_head: bool
    """Whether all content of the text comes after it."""
