"""Places in systemd units and podman's quadlets: what a service starts, with its environment."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kvinspect.commands.images import release_at
from kvinspect.places import docker_run, shell
from kvinspect.places.forms import UNIT
from kvinspect.places.fragment import Entry, Fragment, Said, Word
from kvinspect.places.source import Source, of_file, part

_LINE = re.compile(r"^[ \t]*(\w+)[ \t]*=[ \t]*((?:[^\n\\]|\\[^\n]|\\\n)*)", re.MULTILINE)
_SET = re.compile(r"\"([A-Za-z_]\w*)=([^\"]*)\"|([A-Za-z_]\w*)=(\S*)")


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a unit."""
    source = of_file(text)
    lines = [(found[1], part(source, *found.span(2))) for found in _LINE.finditer(text)]
    env = tuple(entry for key, value in lines if key == "Environment" for entry in _variables(value))
    images = [value for key, value in lines if key == "Image"]
    for key, value in lines:
        found = shell.find_in(_program(value), UNIT) if key.startswith("Exec") else iter(())
        if key == "Exec" and any(docker_run.serves(image.text) for image in images):
            found = iter([Fragment(UNIT, shell.words_of(value))])
        for fragment in found:
            release = fragment.release or next(filter(None, map(_release, images)), None)
            yield fragment._replace(env=(*env, *fragment.env), release=release)


def _program(value: Source) -> Source:
    """A command without the characters that tell systemd how to run it."""
    skipped = len(value.text) - len(value.text.lstrip("-@:+!"))
    return part(value, skipped, len(value.text))


def _variables(value: Source) -> Iterator[Entry]:
    for found in _SET.finditer(value.text):
        name, said = (1, 2) if found[1] else (3, 4)
        yield Entry(Word(found[name], value.at(found.start(name))), Word(found[said], value.at(found.start(said))))


def _release(image: Source) -> Said | None:
    found = release_at(image.text)
    return Said(found[0], "image tag", image.at(found[1])) if found else None
