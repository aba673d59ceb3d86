"""`kvinspect.plan`."""

from __future__ import annotations

from kvinspect.api.ask import Origin, ask
from kvinspect.document.checked import checked
from kvinspect.planning.plan_answer import PlanAnswer


@checked
def plan(document: Origin, *, engine: str | None = None) -> PlanAnswer:
    """What the release's planner makes of a planning document: groups, allocations, blocks, capacity.

    The document has `kv_cache_specs` and `available_memory` (bytes, one entry a worker) in place of `kv_cache_config`.
    `engine` is a release and wins over the document's. Raises DocumentError where the document cannot be used, or names
    a release or backend that nobody knows; what the engine would refuse is an answer with `error`.
    """
    asked = ask(document, "kv_cache_specs", "plan", engine)
    asked.document.require("available_memory", "plan")
    return asked.start
