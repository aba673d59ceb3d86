"""`kvinspect.cg_support`, and what can be said of CUDA graphs without a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kvinspect.api.ask import Origin, ask, release_of
from kvinspect.api.of_model import ModelArguments
from kvinspect.cudagraph.cg_support import matrix
from kvinspect.cudagraph.cg_support_answer import CGSupportAnswer, ModeMatrix
from kvinspect.cudagraph.decide import request_of
from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.resolve import Request
from kvinspect.cudagraph.table import BackendTable, backend_table
from kvinspect.document.checked import checked
from kvinspect.question.question import placed

if TYPE_CHECKING:
    from kvinspect.models.config import Model
    from kvinspect.models.memory import Memory
    from kvinspect.question.model import ModelQuestion


@checked
def cg_support(
    document: Origin | Model,
    *,
    engine: str | None = None,
    engine_args: Mapping[str, Any] | None = None,
    memory: Memory | int | None = None,
    platform: str | None = None,
    device_capability: str | None = None,
    env: Mapping[str, str] | None = None,
) -> CGSupportAnswer:
    """How far the attention backends let CUDA graphs go, and what becomes of the requested mode.

    `engine` is a release and wins over the document's. With `engine_args`, {} for none, `document` is a model as
    `plan_model` takes it, with what else that takes; no memory has to be given. Raises DocumentError where the document
    or the model cannot be used, or names a release or backend that nobody knows.
    """
    given = ModelArguments(engine, engine_args, memory, platform, device_capability, env)
    found = given.document(document)
    if found is None:
        return given.about(document, of_model)
    return ask(found, "kv_cache_config", "cg-support", engine).cg_support


def of_model(asked: ModelQuestion) -> CGSupportAnswer:
    """The answer for a model; without a memory the number of blocks is left out."""
    answer = asked.cache.cg_support
    return answer if asked.memory.exact else answer._replace(setting=answer.setting._replace(num_blocks=0))


@checked
def cg_support_table(*, engine: str | None = None, platform: str = "cuda", backend: str | None = None) -> BackendTable:
    """The backends of a release with the conditions of their CUDA graph support, or one of them.

    Raises DocumentError for a release, platform or backend that nobody knows.
    """
    from kvinspect.question.model import platform_of

    platform_of(platform)
    called, release = release_of(engine)
    with placed(None):
        return backend_table(release, called, platform, backend)


@checked
def cg_support_matrix(document: Origin | None = None, *, engine: str | None = None) -> ModeMatrix:
    """Every CUDA graph mode under every least support, everything else as in a document or as vLLM's defaults."""
    if document is None:
        _, release = release_of(engine)
        return matrix(release, Request(CUDAGraphMode.NONE))
    asked = ask(document, "kv_cache_config", "cg-support", engine)
    return matrix(asked.release, request_of(asked.document))
