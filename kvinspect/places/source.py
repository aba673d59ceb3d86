"""A text inside a file, and where each of its characters stands there: a block scalar, a fence, a string of JSON."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from kvinspect.document.problem import Mark


class Source(NamedTuple):
    """What the inner language reads, with escapes undone and indentation taken away."""

    text: str
    at: Callable[[int], Mark]
    """Where the character at an offset stands in the file; the offset behind the last one is allowed."""


def of_file(text: str) -> Source:
    """A file as a whole.

    >>> of_file("a\\nbc").at(3)
    Mark(line=2, column=2)
    """
    return of_lines(text, ())


def of_lines(text: str, marks: Sequence[Mark]) -> Source:
    """A text whose lines begin at `marks`; those that have none follow as the lines of the file do.

    >>> of_lines("a\\nbc", [Mark(7, 5), Mark(8, 5)]).at(3)
    Mark(line=8, column=6)
    """
    starts = [0]
    end = text.find("\n")
    while end >= 0:
        starts.append(end + 1)
        end = text.find("\n", end + 1)

    last = marks[-1].line if marks else 0

    def at(offset: int) -> Mark:
        number = bisect_right(starts, offset) - 1
        begin = marks[number] if number < len(marks) else Mark(last + number - len(marks) + 1, 1)
        return Mark(begin.line, begin.column + offset - starts[number])

    return Source(text, at)


def of_characters(text: str, marks: Sequence[Mark]) -> Source:
    """A text with a mark for each character; where the mark behind the last one lacks, it follows that one.

    >>> of_characters("ab", [Mark(1, 2), Mark(1, 4)]).at(2)
    Mark(line=1, column=5)
    """

    def at(offset: int) -> Mark:
        if offset < len(marks):
            return marks[offset]
        last = marks[-1] if marks else Mark(1, 0)
        return Mark(last.line, last.column + 1)

    return Source(text, at)


def part(source: Source, start: int, end: int) -> Source:
    """The text between two offsets.

    >>> part(of_file("vllm serve m"), 5, 10).at(0)
    Mark(line=1, column=6)
    """
    return Source(source.text[start:end], lambda offset: source.at(start + offset))
