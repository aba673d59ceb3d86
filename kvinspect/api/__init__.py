"""The front door for programs: each function takes a document and returns a frozen result with `.to_dict()`."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kvinspect.api.on_device import InternalError, device_for, made_on
from kvinspect.device.choose import DeviceError
from kvinspect.document.document import Document
from kvinspect.document.load import load as load_document
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.engine import releases
from kvinspect.engine.answer import AlignAnswer, DeviceAnswer, Setting
from kvinspect.engine.refusal import Unknown
from kvinspect.engine.run import align_document
from kvinspect.engine.situation import DEFAULT_CAPABILITY

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
    for a word that is no device, DeviceError where it is not there or too small; InternalError where torch or the
    experiment disagrees with us.
    """
    loaded = load(document)
    loaded.require("kv_cache_config", "align")
    _known_runner(loaded)
    chosen, limit = device_for(device, verify)
    try:
        called, version, why = releases.chosen(engine, loaded.model.engine)
        release = releases.release(version)
        setting = _setting(loaded, called, version, why, num_blocks or loaded.num_blocks)

        def run(blocks: int) -> AlignAnswer:
            return align_document(loaded, release, setting._replace(num_blocks=blocks))

        answer = run(setting.num_blocks)
        return answer._replace(device=made_on(chosen, limit, answer, run, verify, progress))
    except Unknown as unknown:
        raise _error(loaded, unknown) from None


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


def _error(document: Document, unknown: Unknown) -> DocumentError:
    """What nobody knows, placed in the document, or at the `engine` that the caller asked for."""
    found = f'"{unknown.found}"'
    problem = Problem(unknown.path, expected=unknown.expected, found=found, nearest=unknown.nearest, kind=unknown.kind)
    return document.error(problem) if unknown.path else DocumentError([problem._replace(source="engine")])


__all__ = ["AlignAnswer", "DeviceAnswer", "DeviceError", "Document", "DocumentError", "InternalError", "align", "load"]
