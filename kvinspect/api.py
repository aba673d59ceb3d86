"""The front door for programs: each function takes a document and returns a frozen result with `.to_dict()`."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from typing import Any

from kvinspect.device.choose import Choice, DeviceError, choose
from kvinspect.document.document import Document
from kvinspect.document.load import load as load_document
from kvinspect.document.problem import DocumentError, Problem
from kvinspect.engine import releases
from kvinspect.engine.answer import AlignAnswer, DeviceAnswer, Setting
from kvinspect.engine.refusal import Unknown
from kvinspect.engine.releases import Release
from kvinspect.engine.run import align_document
from kvinspect.engine.situation import DEFAULT_CAPABILITY

Origin = str | pathlib.Path | Mapping[str, Any] | Document


class InternalError(Exception):
    """Two ways of working out the same thing disagree: an error of kvinspect's."""


def load(origin: Origin, name: str | None = None) -> Document:
    """Read and validate a document: a YAML or JSON file, `-` for standard input, or the mapping itself.

    `name` stands for the file in messages. Raises DocumentError with every problem that was found.
    """
    return load_document(origin, name)


def align(
    document: Origin, *, engine: str | None = None, device: str = "none", num_blocks: int | None = None
) -> AlignAnswer:
    """The views that vLLM makes of a document's KV cache, and what its alignment decides about shared ones.

    `engine` is a release (`0.27`) and wins over the document's; `num_blocks` replaces the document's number of blocks.
    With a `device` (auto, cuda, cuda:N, cpu, meta) the tensors are made there and compared with the computed views.

    Raises DocumentError where the document cannot be used, or names a release or backend that nobody knows;
    DeviceError where the device is not there or too small; InternalError where torch disagrees with us.
    """
    loaded = load(document)
    loaded.require("kv_cache_config", "align")
    _known_runner(loaded)
    chosen = choose(device)
    try:
        called, version, why = releases.chosen(engine, loaded.model.engine)
        release = releases.release(version)
        setting = _setting(loaded, called, version, why, num_blocks or loaded.num_blocks)
        answer = align_document(loaded, release, setting)
        return answer._replace(device=_on_device(chosen, loaded, release, answer))
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


def _on_device(chosen: Choice, document: Document, release: Release, answer: AlignAnswer) -> DeviceAnswer:
    """The answer's allocations and views on a device, fewer blocks of them where memory is short."""
    if chosen.is_none or not answer.layers:
        return DeviceAnswer("none", "", chosen.reason or "the engine refuses before it makes a view")
    from kvinspect.device.allocate import ViewMismatch, blocks_that_fit, materialise

    setting = answer.setting
    fit = blocks_that_fit(chosen.name, setting.num_blocks, sum(answer.allocations.values()))
    if fit != setting.num_blocks:
        answer = align_document(document, release, setting._replace(num_blocks=fit))
    wanted = _wanted(answer)
    try:
        made = materialise(chosen.name, answer.allocations, wanted)
    except ViewMismatch as error:
        raise InternalError(str(error)) from None
    return DeviceAnswer(
        device=chosen.name,
        device_name=made.device_name,
        num_blocks=fit,
        of_blocks=setting.num_blocks,
        num_bytes=made.num_bytes,
        num_views=len(wanted),
    )


def _wanted(answer: AlignAnswer) -> list[Any]:
    from kvinspect.device.allocate import Wanted

    return [
        Wanted(layer.layer_name, layer.allocation.key, part.dtype, part.steps, part.view)
        for layer in answer.layers
        if layer.view is not None and layer.allocation is not None and layer.decision != "alias"
        for part in layer.view.parts
    ]


__all__ = ["AlignAnswer", "DeviceAnswer", "DeviceError", "Document", "DocumentError", "InternalError", "align", "load"]
