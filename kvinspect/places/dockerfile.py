"""Dockerfiles: `RUN`, `CMD` and `ENTRYPOINT` in both forms, with the image's release and the stage's variables."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kvinspect.places import docker_run, shell
from kvinspect.places.forms import DOCKERFILE
from kvinspect.places.fragment import Entry, Fragment, Said, Word
from kvinspect.places.shell import started_by
from kvinspect.places.source import Source, of_file, part

_INSTRUCTION = re.compile(r"[ \t]*(?P<name>[A-Za-z]+)[ \t]+")
_COMMENT = re.compile(r"[ \t]*#")
_HEREDOC = re.compile(r"<<-?[ \t]*[\"']?(\w+)[\"']?")
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"')


class Instruction(NamedTuple):
    """An instruction in capitals, and what stands behind it, comments between its lines blanked."""

    name: str
    source: Source


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a Dockerfile."""
    return find_in(of_file(text))


def find_in(source: Source) -> Iterator[Fragment]:
    """The places of a Dockerfile inside a file."""
    if "vllm" not in source.text.lower():
        return
    image, stage = Word("", source.at(0)), _Stage()
    for instruction in _instructions(source):
        if instruction.name == "FROM":
            yield from _placed(stage.server(image), image)
            image, stage = _image(instruction.source), _Stage()
        else:
            yield from _placed(stage.read(instruction), image)
    yield from _placed(stage.server(image), image)


class _Stage:
    """What a stage has said so far."""

    def __init__(self) -> None:
        self.env: tuple[Entry, ...] = ()
        self.entry: tuple[Word, ...] = ()
        self.command: tuple[Word, ...] = ()

    def read(self, instruction: Instruction) -> Iterator[Fragment]:
        """The places of one instruction; what the container starts is kept until the stage ends."""
        source = instruction.source
        if instruction.name == "ENV":
            self.env += tuple(_variables(shell.words_of(source)))
        elif instruction.name in ("CMD", "ENTRYPOINT") and (words := _array(source)):
            self.entry, self.command = (words, ()) if instruction.name == "ENTRYPOINT" else (self.entry, words)
        elif instruction.name in ("RUN", "CMD", "ENTRYPOINT"):
            for fragment in shell.find_in(source, DOCKERFILE):
                yield fragment._replace(env=(*self.env, *fragment.env))

    def server(self, image: Word) -> Iterator[Fragment]:
        """What the container starts by its entry point and command."""
        words = (*self.entry, *self.command)
        found = list(started_by(words, DOCKERFILE)) if words else []
        if not found and self.command:
            found = list(started_by(self.command, DOCKERFILE))  # by a supervisor, say
        if not found and words and not self.entry and docker_run.serves(image.text) and words[0].text.startswith("-"):
            found = [Fragment(DOCKERFILE, words)]
        for fragment in found:
            yield fragment._replace(env=(*self.env, *fragment.env))


def _placed(found: Iterator[Fragment], image: Word) -> Iterator[Fragment]:
    release: Said | None = docker_run.release(image)
    for fragment in found:
        yield fragment if fragment.release else fragment._replace(release=release)


def _image(source: Source) -> Word:
    """The image of `FROM [--platform=…] IMAGE [AS NAME]`."""
    words = [word for word in shell.words_of(source) if not word.text.startswith("--")]
    return words[0] if words else Word("", source.at(0))


def _variables(words: Sequence[Word]) -> Iterator[Entry]:
    """What `ENV A=1 B=2` or `ENV A 1` sets."""
    if len(words) > 1 and "=" not in words[0].text:
        yield Entry(words[0], words[1])
    else:
        yield from (docker_run.assignment(word) for word in words if "=" in word.text)


def _array(source: Source) -> tuple[Word, ...]:
    """The words of the exec form, none where what stands there is no JSON array of texts."""
    text = source.text.replace("\\\n", "  ")
    try:
        items = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        return ()
    found = zip(_STRING.finditer(text), items, strict=False)
    return tuple(Word(item, source.at(at.start()), inner=source.at(at.start() + 1)) for at, item in found)


def _instructions(source: Source) -> Iterator[Instruction]:
    """The instructions with their continuation lines and heredocs."""
    lines = source.text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    ends: dict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        ends[line.strip()].append(number)
    number = 0
    while number < len(lines):
        found = _INSTRUCTION.match(lines[number])
        if not found or _COMMENT.match(lines[number]):
            number += 1
            continue
        last = _last_line(lines, number)
        inner = part(source, starts[number] + found.end(), starts[last] + len(lines[last]))
        heredoc = _HEREDOC.search(inner.text) if found["name"].upper() == "RUN" else None
        closing = ends.get(heredoc[1], []) if heredoc else []
        if (nearest := bisect_right(closing, last)) < len(closing):
            inner, last = part(source, starts[last + 1], starts[closing[nearest]]), closing[nearest]
        yield Instruction(found["name"].upper(), inner._replace(text=_COMMENT_LINE.sub(_blanked, inner.text)))
        number = last + 1


_COMMENT_LINE = re.compile(r"(?<=\\\n)[ \t]*#[^\n]*(?=\n)")


def _blanked(found: re.Match[str]) -> str:
    """A comment between continued lines, which a Dockerfile leaves out and a shell would end the command at."""
    return " " * (len(found[0]) - 1) + "\\"


def _last_line(lines: Sequence[str], first: int) -> int:
    """The line on which an instruction ends; comments between its lines do not end it."""
    last = first
    while last + 1 < len(lines) and (
        lines[last].rstrip().endswith("\\") or (last > first and _COMMENT.match(lines[last]))
    ):
        last += 1
    return last
