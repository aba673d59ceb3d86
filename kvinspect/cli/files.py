"""What a call names: files, folders, standard input."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

from kvinspect.cli.exits import say
from kvinspect.document.problem import DocumentError
from kvinspect.document.source import Source, read_source

SUFFIXES = (".yaml", ".yml", ".json")


def sources(names: list[str], key: str) -> Iterator[Source | DocumentError]:
    """Each named file as a parsed source, or what is wrong with it.

    Of a folder, the files in it and below that hold a mapping with `key`; how many others there were is said on
    standard error.
    """
    for name in names:
        if name != "-" and pathlib.Path(name).is_dir():
            yield from _of_folder(pathlib.Path(name), key)
        else:
            yield _read(name)


def _read(name: str) -> Source | DocumentError:
    try:
        return read_source(name)
    except DocumentError as error:
        return error


def _of_folder(folder: pathlib.Path, key: str) -> Iterator[Source | DocumentError]:
    skipped = 0
    for path in sorted(_files(folder)):
        found = _read(str(path))
        if isinstance(found, DocumentError) or (isinstance(found.value, dict) and key in found.value):
            yield found
        else:
            skipped += 1
    if skipped:
        say(f"{folder}: {skipped} of its files skipped, without {key}")


def _files(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.suffix.lower() in SUFFIXES and not hidden and path.is_file():
            yield path
