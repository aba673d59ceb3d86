"""What a call names: files, folders, standard input."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from kvinspect.cli.exits import CLEAN, INPUT, print_problems, say
from kvinspect.cli.walk import expanded, files_below, is_pattern
from kvinspect.document.document import Document
from kvinspect.document.files import is_elsewhere
from kvinspect.document.numbers import counted
from kvinspect.document.problem import DocumentError
from kvinspect.document.source import FOUND_BY_LINK, Source, read_source
from kvinspect.output import inputs

Answer = TypeVar("Answer")


def several(names: list[str]) -> bool:
    """Whether a call asks about more than one document, as far as its words tell."""
    from kvinspect.question.documents import names_model

    return not names_model(names) and (len(names) > 1 or os.path.isdir(names[0]) or is_pattern(names[0]))


def answers_of(
    names: list[str],
    key: str,
    ask: Callable[[Document], Answer],
    of_model: Callable[[list[str]], Answer] | None = None,
) -> tuple[list[Answer], list[int]]:
    """The answer for every named document that holds `key`, and an exit code for each file.

    What is wrong with a document is printed, and the others are still asked; so is that there was none at all. Words
    that name a model, and a file that is a model's config.json or a `vllm serve` file, are answered `of_model`, where a
    command can.
    """
    from kvinspect.question.documents import is_model_folder, names_model

    files = list(expanded(names))
    if of_model is not None and names_model(names):
        return [of_model(names)], [CLEAN]
    answers, codes = [], []
    for name, found in _named(files, key, of_model is not None):
        try:
            answers.append(_answer(name, found, ask, of_model))
            codes.append(CLEAN)
        except DocumentError as error:
            print_problems(error.errors)
            codes.append(INPUT)
    if not codes:
        say(f"kvinspect: there is no document with {key} in {', '.join(names)}")
        for name in filter(is_model_folder, names):
            say(f"{name} is a model's folder; `kvinspect plan {name} … -o doc.yaml` makes a document")
        codes.append(INPUT)
    return answers, codes


def _answer(
    name: str,
    found: Source | DocumentError | None,
    ask: Callable[[Document], Answer],
    of_model: Callable[[list[str]], Answer] | None,
) -> Answer:
    """The answer about what a call names; a model is read again by its name, which standard input does not have."""
    from kvinspect.question.documents import document_of

    if found is None:
        assert of_model is not None
        return of_model([name])
    if isinstance(found, DocumentError):
        raise found
    try:
        document = document_of(found)
    except DocumentError as error:
        if of_model is None or name == "-" or error.errors[0].kind != "other":
            raise
        return of_model([error.errors[0].source])
    return ask(document)


def _named(names: list[str], key: str, models: bool) -> Iterator[tuple[str, Source | DocumentError | None]]:
    """(name of the call, what it names), None for a model's folder where a command takes models."""
    from kvinspect.question.documents import is_model_folder

    for name in names:
        if models and is_model_folder(name):
            yield name, None
        else:
            yield from ((name, found) for found in sources([name], key))


def sources(names: list[str], key: str) -> Iterator[Source | DocumentError]:
    """Each named file as a parsed source, or what is wrong with it.

    Of a folder, the files in it and below that hold a mapping with `key`; how many others there were is said on
    standard error.
    """
    for name in names:
        if name != "-" and os.path.isdir(name):
            yield from _of_folder(pathlib.Path(name), key)
        else:
            yield _read(name)


def _read(name: str, private: str = "") -> Source | DocumentError:
    try:
        return read_source(name, private=private)
    except DocumentError as error:
        return error


def _of_folder(folder: pathlib.Path, key: str) -> Iterator[Source | DocumentError]:
    skipped = 0
    for path in files_below(folder, git=False):
        found = _read(str(path), FOUND_BY_LINK if is_elsewhere(path, folder) else "")
        if isinstance(found, DocumentError) or (isinstance(found.value, dict) and key in found.value):
            yield found
        else:
            inputs.forget(path)
            skipped += 1
    if skipped:
        say(f"{folder}: skipped {counted(skipped, 'file')} (no {key})")
