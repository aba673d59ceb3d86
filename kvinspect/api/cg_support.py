"""`kvinspect.cg_support`, and what can be said of CUDA graphs without a document."""

from __future__ import annotations

from kvinspect.api.ask import Origin, ask, release_of
from kvinspect.document.checked import checked
from kvinspect.engine.cudagraph.cg_support import matrix
from kvinspect.engine.cudagraph.cg_support_answer import CGSupportAnswer, ModeMatrix
from kvinspect.engine.cudagraph.decide import request_of
from kvinspect.engine.cudagraph.mode import CUDAGraphMode
from kvinspect.engine.cudagraph.resolve import Request
from kvinspect.engine.cudagraph.table import BackendTable, backend_table
from kvinspect.question.question import placed


@checked
def cg_support(document: Origin, *, engine: str | None = None) -> CGSupportAnswer:
    """How far the attention backends let CUDA graphs go, and what becomes of the requested mode.

    `engine` is a release and wins over the document's. Raises DocumentError where the document cannot be used, or names
    a release or backend that nobody knows.
    """
    return ask(document, "kv_cache_config", "cg-support", engine).cg_support


@checked
def cg_support_table(*, engine: str | None = None, platform: str = "cuda", backend: str | None = None) -> BackendTable:
    """The backends of a release with what their CUDA graph support hangs on, or one of them.

    Raises DocumentError for a release or backend that nobody knows.
    """
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
