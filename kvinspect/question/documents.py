"""Documents from what a call names, and what else a file or a folder of that name is."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from kvinspect.commands.programs import COMMAND, starts_vllm
from kvinspect.document.checked import checked
from kvinspect.document.document import Document
from kvinspect.document.files import is_file, is_folder
from kvinspect.document.load import from_source
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.document.source import Source, read_source

Origin = str | pathlib.Path | Mapping[str, Any] | Document


@checked
def load(origin: Origin, name: str | None = None) -> Document:
    """Read and validate a document: a YAML or JSON file, `-` for standard input, or the mapping itself.

    `name` stands for the file in messages. Raises DocumentError with every problem that was found.
    """
    if isinstance(origin, Document):
        return origin
    if not isinstance(origin, Mapping) and is_model_folder(origin):
        raise _another(name or str(origin), "model's folder")
    return document_of(read_source(origin, name))


def document_of(source: Source) -> Document:
    """The document of a parsed text. Raises DocumentError, with one problem where it is a file of another kind."""
    try:
        return from_source(source)
    except DocumentError:
        from kvinspect.question.kinds import kind_of

        kind = kind_of(source.value, source.name)
        if kind in KINDS:
            raise _another(source.name, KINDS[kind]) from None
        raise


KINDS = {"model": "model's config.json", "serve": "`vllm serve` file"}
"""Files that are no documents, though a document can be made of them."""


def is_model_folder(name: str | pathlib.Path) -> bool:
    """Whether a folder is a model's."""
    return is_file(pathlib.Path(name) / "config.json")


def names_model(words: Sequence[str]) -> bool:
    """Whether a call's words name a model rather than documents: they have flags, or one name that is a model's.

    A folder with a config.json is a model's, and so is a name that is no file, no folder and no pattern and does not
    end as a document does. What a file is its content tells (`kind_of`).
    """
    if any(word[:1] == "-" and word != "-" for word in words):
        return True
    if any(map(COMMAND.match, words)) and starts_vllm(words):
        return True
    if len(words) != 1 or words[0] == "-" or is_file(words[0]):
        return False
    if is_folder(words[0]):
        return is_model_folder(words[0])
    if len(words[0].split(maxsplit=1)) > 1:
        return True
    return not words[0].lower().endswith((".json", ".yaml", ".yml")) and not any(c in words[0] for c in "*?[")


def _another(name: str, what: str) -> DocumentError:
    message = f"is a {what}, no inspection document; `kvinspect plan {name} … -o doc.yaml` makes one"
    return DocumentError([Problem((), message=message, source=name, kind="other")])
