"""Places in files of `NAME=value` lines: flags that a variable holds, with the image and the variables beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvinspect.commands.images import release_at
from kvinspect.places import names, shell
from kvinspect.places.forms import SETTING
from kvinspect.places.fragment import Entry, Fragment, Said, Word
from kvinspect.places.source import Source, of_file, part

_LINE = re.compile(r"^[ \t]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*(.*?)[ \t]*$", re.MULTILINE)


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a file of variables."""
    yield from find_in(of_file(text))


def find_in(source: Source) -> Iterator[Fragment]:
    """A place for each variable whose value is flags of vLLM."""
    lines = [(found, _value(source, found)) for found in _LINE.finditer(source.text)]
    env = tuple(_entry(source, found, value) for found, value in lines)
    release = next((said for _, value in lines if (said := _release(value))), None)
    for _, value in lines:
        if not value.text.lstrip().startswith("-"):
            continue
        words = shell.words_of(value)
        if names.are_the_engines([word.text for word in words]):
            yield Fragment(SETTING, words, release=release, env=env)


def _value(source: Source, found: re.Match[str]) -> Source:
    """A value without the quotes around it."""
    start, end = found.span(2)
    if end - start > 1 and source.text[start] in "\"'" and source.text[end - 1] == source.text[start]:
        start, end = start + 1, end - 1
    return part(source, start, end)


def _entry(source: Source, found: re.Match[str], value: Source) -> Entry:
    return Entry(Word(found[1], source.at(found.start(1))), Word(value.text, value.at(0)))


def _release(value: Source) -> Said | None:
    found = release_at(value.text) if "vllm" in value.text else None
    return Said(found[0], "image tag", value.at(found[1])) if found else None
