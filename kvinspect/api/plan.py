"""`kvinspect.plan`."""

from __future__ import annotations

from kvinspect.api.asking import Origin, ask, placed
from kvinspect.document.checked import checked
from kvinspect.document.problem import DocumentError
from kvinspect.planning.answer import PlanAnswer
from kvinspect.planning.run import plan_document
from kvinspect.specs.mamba import MambaSpec


@checked
def plan(document: Origin, *, engine: str | None = None) -> PlanAnswer:
    """What the release's planner makes of a planning document: groups, allocations, blocks, capacity.

    The document has `kv_cache_specs` and `available_memory` (bytes, one entry a worker) in place of `kv_cache_config`.
    `engine` is a release and wins over the document's. Raises DocumentError where the document cannot be used, or names
    a release or backend that nobody knows; what the engine would refuse is an answer with `error`.
    """
    asked = ask(document, "kv_cache_specs", "plan", engine)
    asked.document.require("available_memory", "plan")
    with placed(asked.document):
        return _graphs_captured(plan_document(asked.document, asked.release, asked.setting))


def _graphs_captured(answer: PlanAnswer) -> PlanAnswer:
    """The plan, refused where the blocks of states are too few for the sequences whose graphs are captured.

    Of a document that names no backends nothing can be said of graphs.
    """
    worker = answer.workers[0] if answer.starts and answer.workers else None
    if worker is None or not any(isinstance(group.first_spec, MambaSpec) for group in worker.groups):
        return answer
    from kvinspect.api.cg_support import cg_support
    from kvinspect.planning.inspection import inspection_document

    try:
        error = cg_support(inspection_document(answer), engine=answer.setting.release).running.error
    except DocumentError:
        return answer
    if error is None or error.kind != "state-blocks":
        return answer
    return answer._replace(refusal=error.within("graphs")._replace(path=(), where=""))
