"""The front door for programs: each function takes a document and returns a frozen result with `.to_dict()`."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from kvinspect.api.on_device import InternalError, device_for, made_on
from kvinspect.device.choose import DeviceError
from kvinspect.document.document import Document
from kvinspect.document.load import load as load_document
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.engine import releases
from kvinspect.engine.answer import AlignAnswer, DeviceAnswer, Setting
from kvinspect.engine.cudagraph.answer import CGSupportAnswer, Matrix
from kvinspect.engine.cudagraph.decide import request_of
from kvinspect.engine.cudagraph.mode import CUDAGraphMode
from kvinspect.engine.cudagraph.resolve import Request
from kvinspect.engine.cudagraph.run import cg_support_document, matrix
from kvinspect.engine.cudagraph.support import AttentionCGSupport, AttentionCGSupportInfo
from kvinspect.engine.cudagraph.table import BackendTable, backend_table
from kvinspect.engine.mm_prefix.answer import MMPrefixAnswer
from kvinspect.engine.mm_prefix.run import mm_prefix_document
from kvinspect.engine.refusal import Unknown
from kvinspect.engine.releases import Release
from kvinspect.engine.run import align_document
from kvinspect.engine.situation import DEFAULT_CAPABILITY
from kvinspect.engine.unknown import unknown_names
from kvinspect.geometry.runs import Intricate

if TYPE_CHECKING:
    from kvinspect.device.read_back import Progress

Origin = str | pathlib.Path | Mapping[str, Any] | Document


def load(origin: Origin, name: str | None = None) -> Document:
    """Read and validate a document: a YAML or JSON file, `-` for standard input, or the mapping itself.

    `name` stands for the file in messages. Raises DocumentError with every problem that was found.
    """
    return load_document(origin, name)


def align(
    document: Origin,
    *,
    engine: str | None = None,
    device: str = "none",
    num_blocks: int | None = None,
    verify: bool = False,
    progress: Progress | None = None,
) -> AlignAnswer:
    """The views that vLLM makes of a document's KV cache, and what its alignment decides about shared ones.

    `engine` is a release (`0.27`) and wins over the document's; `num_blocks` replaces the document's number of blocks.
    With a `device` (auto, cuda, cuda:N, cpu, meta) the tensors are made there and compared with the computed views;
    `verify` also writes block IDs through each view and reads them back through the others, on the host where no
    device is chosen. `progress` is told (bytes moved, bytes to move) meanwhile.

    Raises DocumentError where the document cannot be used, or names a release or backend that nobody knows; ValueError
    for a word that is no device or a number of blocks below 1; DeviceError where the device is not there or too small;
    InternalError where torch or the experiment disagrees with us.
    """
    if num_blocks is not None and (not isinstance(num_blocks, int) or num_blocks < 1):
        raise ValueError(f"num_blocks is a whole number from 1 on, not {num_blocks!r}")
    asked = _ask(document, "kv_cache_config", "align", engine, num_blocks)
    chosen, limit = device_for(device, verify)

    def run(blocks: int) -> AlignAnswer:
        return align_document(asked.document, asked.release, asked.setting._replace(num_blocks=blocks))

    with _placed(asked.document):
        answer = run(asked.setting.num_blocks)
        return answer._replace(device=made_on(chosen, limit, answer, run, verify, progress))


def cg_support(document: Origin, *, engine: str | None = None) -> CGSupportAnswer:
    """How far the attention backends let CUDA graphs go, and what becomes of the requested mode.

    `engine` is a release and wins over the document's. Raises DocumentError where the document cannot be used, or names
    a release or backend that nobody knows.
    """
    asked = _ask(document, "kv_cache_config", "cg-support", engine)
    with _placed(asked.document):
        return cg_support_document(asked.document, asked.release, asked.setting)


def cg_support_table(*, engine: str | None = None, platform: str = "cuda", backend: str | None = None) -> BackendTable:
    """The backends of a release with what their CUDA graph support hangs on, or one of them.

    Raises DocumentError for a release or backend that nobody knows.
    """
    called, release = _release(engine)
    with _placed(None):
        return backend_table(release, called, platform, backend)


def cg_support_matrix(document: Origin | None = None, *, engine: str | None = None) -> Matrix:
    """Every CUDA graph mode under every least support, everything else as in a document or as vLLM's defaults."""
    if document is None:
        _, release = _release(engine)
        return matrix(release, Request(CUDAGraphMode.NONE))
    asked = _ask(document, "kv_cache_config", "cg-support", engine)
    return matrix(asked.release, request_of(asked.document))


def _release(engine: str | None) -> tuple[str, Release]:
    """(what a release is called, the release) without a document. Raises DocumentError for an unknown one."""
    with _placed(None):
        called, version, _ = releases.chosen(engine, None)
    return called, releases.release(version)


def mm_prefix(document: Origin, *, engine: str | None = None) -> MMPrefixAnswer:
    """The spans of image and video tokens that attend both ways, in tokens of the prompt, both ends in.

    `engine` is a release and wins over the document's. Raises DocumentError where the document cannot be used, or names
    a release that nobody knows.
    """
    asked = _ask(document, "multimodal", "mm-prefix", engine)
    return mm_prefix_document(asked.document, asked.setting)


class _Asked(NamedTuple):
    document: Document
    release: Release
    setting: Setting


def _ask(origin: Origin, key: str, command: str, engine: str | None, num_blocks: int | None = None) -> _Asked:
    """A document with the key that a command needs, and the release whose rules apply."""
    loaded = load(origin)
    loaded.require(key, command)
    _known_runner(loaded)
    with _placed(loaded):
        called, version, why = releases.chosen(engine, loaded.model.engine)
    release = releases.release(version)
    unknown = [_problem(name) for name in unknown_names(loaded, release)]
    if unknown:
        raise DocumentError(loaded.source.placed(unknown))
    setting = _setting(loaded, called, version, why, loaded.num_blocks if num_blocks is None else num_blocks)
    return _Asked(loaded, release, setting)


@contextmanager
def _placed(document: Document | None) -> Iterator[None]:
    """What nobody knows as an error with its place in the document."""
    try:
        yield
    except Unknown as unknown:
        raise _error(document, unknown) from None
    except Intricate as intricate:
        assert document is not None
        problem = Problem(("kv_cache_config",), message=f"cannot be judged: {intricate}", kind="intricate")
        raise document.error(problem) from None


def _known_runner(document: Document) -> None:
    runner = document.model.model_runner
    if runner != "v2":
        hint = "kvinspect knows vllm/v1/worker/gpu (v2) only, so nothing can be said about this document"
        problem = Problem(("model_runner",), expected="v2", found=f'"{runner}"', hint=hint, kind="unknown-runner")
        raise document.error(problem)


def _setting(document: Document, called: str, version: str, why: str, num_blocks: int) -> Setting:
    model = document.model
    return Setting(
        source=document.source.name,
        engine=called,
        release=version,
        engine_source=why,
        model_runner=model.model_runner,
        platform=model.platform,
        device_capability=model.device_capability or DEFAULT_CAPABILITY[model.platform],
        kv_cache_layout=model.kv_cache_layout,
        num_blocks=num_blocks,
    )


def _problem(unknown: Unknown) -> Problem:
    found = f'"{unknown.found}"'
    return Problem(unknown.path, expected=unknown.expected, found=found, nearest=unknown.nearest, kind=unknown.kind)


def _error(document: Document | None, unknown: Unknown) -> DocumentError:
    """What nobody knows, placed in the document, or at the word that the caller gave."""
    problem = _problem(unknown)
    if document is not None and unknown.path:
        return document.error(problem)
    return DocumentError([problem._replace(source="backend" if unknown.kind == "unknown-backend" else "engine")])


__all__ = [
    "AlignAnswer",
    "AttentionCGSupport",
    "AttentionCGSupportInfo",
    "CGSupportAnswer",
    "CUDAGraphMode",
    "DeviceAnswer",
    "DeviceError",
    "Document",
    "DocumentError",
    "InternalError",
    "MMPrefixAnswer",
    "align",
    "cg_support",
    "cg_support_matrix",
    "cg_support_table",
    "load",
    "mm_prefix",
]
