"""The comments of a YAML text: what the scanner passes over between its tokens, never what stands in a value."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any

import yaml

from kvinspect.document.line_ends import YAML_LINE_END, Comment
from kvinspect.document.problem import Mark
from kvinspect.document.yaml_text import Loader

_COMMENT = re.compile("#[^\r\n\x85\u2028\u2029]*")
_HEADER_COMMENT = re.compile("[|>][-+0-9]*[ \t]*(#[^\r\n\x85\u2028\u2029]*)")
"""A comment behind the `|` or `>` of a block scalar, which lies inside the scalar's token.

libyaml takes it for a comment without a blank before it as well."""

_BEFORE_CONTENT = (yaml.StreamStartToken, yaml.DirectiveToken, yaml.DocumentStartToken)


def yaml_comments(text: str) -> Iterator[Comment]:
    """The comments of a text that has been parsed, in their order. Raises YAMLError for one that cannot be."""
    scanned = yaml.scan(text, Loader=Loader)
    # The scanner counts no byte order mark in its marks, which are compared with places in the text here.
    text = text.removeprefix("\ufeff")
    starts = [0, *(end.end() for end in YAML_LINE_END.finditer(text))]
    at, at_head = 0, True
    for token in scanned:
        for found in _COMMENT.finditer(text, at, max(at, token.start_mark.index)):
            yield _comment(text, found.start(), found[0], starts, at_head)
        at_head = at_head and isinstance(token, _BEFORE_CONTENT)
        header = _header_comment(token, text)
        if header is not None:
            yield _comment(text, header.start(1), header[1], starts, at_head)
        at = max(at, token.end_mark.index)


def _header_comment(token: Any, text: str) -> re.Match[str] | None:
    is_block = isinstance(token, yaml.ScalarToken) and token.style in ("|", ">")
    return _HEADER_COMMENT.match(text, token.start_mark.index) if is_block else None


def _comment(text: str, at: int, words: str, starts: list[int], at_head: bool) -> Comment:
    line = bisect_right(starts, at)
    start = starts[line - 1]
    return Comment(Mark(line, at - start + 1), words, not text[start:at].strip(" \t"), at_head)
