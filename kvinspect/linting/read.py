"""What a file is: a document, a model's config, a serve file, or one with places of engine arguments."""

from __future__ import annotations

import pathlib
import re
from typing import Any, Literal, NamedTuple

from kvinspect.document.files import read_bounded
from kvinspect.document.limits import MAX_BYTES
from kvinspect.document.problem import DocumentError
from kvinspect.document.source import Source, label_of, read_source, read_text, unparsed
from kvinspect.output import inputs
from kvinspect.places import names
from kvinspect.places.find import detect, reader_of
from kvinspect.places.fragment import Fragment
from kvinspect.question.kinds import DOCUMENT_KEYS, FileKind, kind_of

PARSED = ("yaml_file", "json_file", None)
"""The detectors of files that are read as a whole first, and files that have none."""

_OURS = re.compile(rf"^[ \t{{]*[\"']?(?:{'|'.join(sorted(DOCUMENT_KEYS))})[\"']?[ \t]*:", re.MULTILINE)

_WORDS = (
    b"vllm", b"parallel_size", b"max_model_len", b"max_num_seqs", b"max_num_batched", b"gpu_memory", b"kv_cache",
    b"engine_args", b"engineargs", b"engine_kw", b"enginekw", b"enforce_eager", b"architectures", b"model_type",
    b"hidden_size", b"num_hidden", b"text_config", b"attention_groups", b"multimodal", b"block_size", b"prefix_cach",
    b"chunked_prefill", b"served_model", b"speculative", b"attention_backend",
)  # fmt: skip
"""What a file has at least one of that holds a document, a model's config or arguments of vLLM."""

_NAMING = frozenset(("shell", "dockerfile", "markdown_file", "python_file", "notebook_file"))
"""Detectors of texts that name vLLM wherever they hold its arguments."""

_FOLDED = bytes.maketrans(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ-. ", b"abcdefghijklmnopqrstuvwxyz___")


class Read(NamedTuple):
    """A file: what it is, its text, and its places where it is of another kind."""

    kind: FileKind | Literal["places"]
    source: Source
    places: tuple[Fragment, ...] = ()
    ours: bool = True
    """Whether it holds something of vLLM's."""


def what_is(origin: Any, name: str | None, private: str) -> Read:
    """Read a path, `-` or a mapping. Raises DocumentError where it is neither readable nor has places."""
    label = name or label_of(origin)
    if reader_of(label) not in PARSED and not private and str(origin) != "-":
        return _with_places(unparsed(read_text(origin, label), label), "other")
    try:
        source = read_source(origin, name, loose=True, private=private)
    except DocumentError:
        found = _unreadable(origin, label) if not private else None
        if found is None:
            raise
        return found
    kind = kind_of(source.value, source.name)
    if kind in ("document", "model") or private:
        return Read(kind, source, ours=kind != "other")
    if kind == "serve" and names.are_the_engines([f"--{key}" for key in source.value]):
        return Read(kind, source)
    return _with_places(source, kind)


def _with_places(source: Source, kind: FileKind) -> Read:
    places = tuple(detect(source.text, source.name))
    return Read("places", source, places) if places else Read(kind, source, ours=False)


def _unreadable(origin: Any, label: str) -> Read | None:
    """A file that is no one document of plain values, where it has places; None where it has none."""
    if isinstance(origin, dict) or str(origin) == "-":
        return None
    try:
        found = _with_places(unparsed(read_text(origin, label), label), "other")
    except DocumentError:
        return None
    return found if found.places else None


def was_ours(origin: Any) -> bool:
    """Whether a file that cannot be read as it stands is meant as a document, or is not even a text."""
    if not isinstance(origin, (str, pathlib.Path)) or str(origin) == "-":
        return True
    try:
        return _OURS.search(read_text(origin, str(origin))) is not None
    except DocumentError as error:
        return error.errors[0].kind == "unreadable"


def takes_name(name: str) -> bool:
    """Whether a walk looks into a file of this name."""
    return reader_of(name) is not None


def is_worth_reading(path: str) -> bool:
    """Whether a file has a word of vLLM's; one that cannot be read is left to whoever says so."""
    try:
        data = read_bounded(path, MAX_BYTES)
    except DocumentError as error:
        return error.errors[0].kind == "unreadable"
    inputs.forget(path)
    folded = data.translate(_FOLDED)
    return any(word in folded for word in (_WORDS[:1] if reader_of(path) in _NAMING else _WORDS))
