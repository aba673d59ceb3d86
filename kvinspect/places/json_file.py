"""Places in JSON: read as YAML, of which it is a part."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.places import yaml_file
from kvinspect.places.fragment import Fragment
from kvinspect.places.source import Source, of_file


def find(text: str, name: str) -> Iterator[Fragment]:
    """The places of a JSON file."""
    yield from find_in(of_file(text), name)


def find_in(source: Source, name: str = "") -> Iterator[Fragment]:
    """The places of a JSON text inside a file."""
    for found in yaml_file.find_in(source, name):
        yield found._replace(form=found.form.replace("YAML:", "JSON:"))
