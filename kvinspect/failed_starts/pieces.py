"""A log of any size as pieces of plain lines: without colors, and without the JSON that collectors wrap lines in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO, NamedTuple

from kvinspect.document.limits import MAX_LOG_PIECE, MAX_WRAPPED_LINE

_COLOR = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_DRESSED = re.compile(rb"[\x1b\r]|^[ \t]{0,8}\{", re.MULTILINE)
"""What only lines have that are colored or wrapped."""
_TEXT_KEYS = ("log", "message", "msg", "MESSAGE", "textPayload", "line", "body")
"""Keys under which Docker, Kubernetes, journald and cloud collectors keep a line's text."""


class Piece(NamedTuple):
    """Whole lines of a log, and the line of the file that each one is from."""

    text: str
    numbers: Sequence[int]


def pieces(stream: BinaryIO) -> Iterator[Piece]:
    """The pieces of a log, read one by one; of a longer line the first MAX_WRAPPED_LINE bytes. Raises OSError."""
    number = 1
    for data in _whole_lines(stream):
        count = data.count(b"\n") + 1
        if _DRESSED.search(data):
            lines = [line[:MAX_WRAPPED_LINE].decode("utf-8", "replace") for line in data.split(b"\n")]
            yield _piece(lines, number)
        else:
            yield Piece(data.decode("utf-8", "replace"), range(number, number + count))
        number += count


def _whole_lines(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while block := stream.read(MAX_LOG_PIECE):
        whole, end, tail = block.rpartition(b"\n")
        if end:
            yield rest + whole
            rest = b""
        rest = (rest + tail)[:MAX_WRAPPED_LINE]
    if rest:
        yield rest


def _piece(lines: Sequence[str], first: int) -> Piece:
    texts: list[str] = []
    numbers: list[int] = []
    begun = ""
    for number, line in enumerate(lines, first):
        text, ends = _unwrapped(line)
        begun = (begun + text)[:MAX_WRAPPED_LINE]
        if ends:
            plain = _COLOR.sub("", begun).replace("\r", "\n").rstrip("\n").split("\n")
            texts += plain
            numbers += [number] * len(plain)
            begun = ""
    return Piece("\n".join([*texts, begun]) if begun else "\n".join(texts), [*numbers, first + len(lines) - 1])


def _unwrapped(line: str) -> tuple[str, bool]:
    """The text of a line, and whether it ends there: Docker cuts long lines and ends the last part alone."""
    if not line.lstrip().startswith("{"):
        return line, True
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line, True
    key = next((key for key in _TEXT_KEYS if isinstance(record.get(key), str)), "")
    if not key:
        return line, True
    text = record[key]
    return text, key != "log" or text.endswith("\n") or not record.get("stream")
