"""How every call begins: the document, the release whose rules apply, and every name that it does not know."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from kvinspect.document.checked import checked
from kvinspect.document.document import Document
from kvinspect.document.files import is_file
from kvinspect.document.load import from_source
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.document.source import Source, read_source
from kvinspect.engine.answer import Setting
from kvinspect.engine.refusal import Unknown
from kvinspect.engine.runners import Choice, choose
from kvinspect.engine.situation import DEFAULT_CAPABILITY
from kvinspect.engine.unknown import unknown_names
from kvinspect.geometry.runs import Intricate
from kvinspect.releases import lookup
from kvinspect.releases.release import Release

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
        from kvinspect.lint.kinds import kind_of

        kind = kind_of(source.value, source.name)
        if kind in KINDS:
            raise _another(source.name, KINDS[kind]) from None
        raise


KINDS = {"model": "model's config.json", "serve": "`vllm serve` file"}
"""Files that are no documents, though a document can be made of them."""


def is_model_folder(name: str | pathlib.Path) -> bool:
    """Whether a folder is a model's."""
    return is_file(pathlib.Path(name) / "config.json")


def _another(name: str, what: str) -> DocumentError:
    message = f"is a {what}, no inspection document; `kvinspect plan {name} … -o doc.yaml` makes one"
    return DocumentError([Problem((), message=message, source=name, kind="other")])


class Asked(NamedTuple):
    """A document, and the rules under which it is answered."""

    document: Document
    release: Release
    setting: Setting


def ask(origin: Origin, key: str, command: str, engine: str | None, num_blocks: int | None = None) -> Asked:
    """A document with the key that a command needs, and the release whose rules apply."""
    loaded = load(origin)
    loaded.require(key, command)
    with placed(loaded):
        called, version, why = lookup.chosen(engine, loaded.model.engine)
        runner = choose(loaded, lookup.number(version))
        release = lookup.release(version, runner.runner)
    unknown = [name.problem for name in unknown_names(loaded, release)]
    if unknown:
        raise DocumentError(loaded.source.placed(unknown))
    setting = _setting(loaded, called, version, why, runner)
    return Asked(loaded, release, setting if num_blocks is None else setting._replace(num_blocks=num_blocks))


def release_of(engine: str | None) -> tuple[str, Release]:
    """(what a release is called, the release) without a document. Raises DocumentError for an unknown one."""
    with placed(None):
        called, version, _ = lookup.chosen(engine, None)
        return called, lookup.release(version)


@contextmanager
def placed(document: Document | None) -> Iterator[None]:
    """What nobody knows as an error with its place in the document."""
    try:
        yield
    except Unknown as unknown:
        raise _error(document, unknown) from None
    except Intricate as intricate:
        assert document is not None
        problem = Problem(("kv_cache_config",), message=f"cannot be judged: {intricate}", kind="intricate")
        raise document.error(problem) from None


def _setting(document: Document, called: str, version: str, why: str, runner: Choice) -> Setting:
    model = document.model
    return Setting(
        source=document.source.name,
        engine=called,
        release=version,
        engine_source=why,
        model_runner=runner.runner,
        model_runner_source=runner.source,
        model_runner_why=runner.why,
        platform=model.platform,
        device_capability=model.device_capability or DEFAULT_CAPABILITY[model.platform],
        kv_cache_layout=model.kv_cache_layout,
        num_blocks=document.num_blocks,
    )


def _error(document: Document | None, unknown: Unknown) -> DocumentError:
    """What nobody knows, placed in the document, or at the word that the caller gave."""
    problem = unknown.problem
    if document is not None and unknown.path:
        return document.error(problem)
    return DocumentError([problem._replace(source="backend" if unknown.kind == "unknown-backend" else "engine")])
