"""`cg-support` from a document to its answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kvinspect.backends.conditions import OPEN
from kvinspect.cudagraph.advice import Decided, advise
from kvinspect.cudagraph.capture import Batches, Captured, capture_sizes
from kvinspect.cudagraph.cg_support_answer import CGSupportAnswer, MatrixCell, ModeMatrix, Open, OpenCase
from kvinspect.cudagraph.decide import Decision, decide
from kvinspect.cudagraph.levels import CANDIDATES, assumed, deployment_facts
from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.resolve import Request, Resolution, resolve
from kvinspect.cudagraph.rules import GraphRules
from kvinspect.cudagraph.running import at_start_up
from kvinspect.cudagraph.support import AttentionCGSupport, AttentionCGSupportInfo
from kvinspect.document.document import Document
from kvinspect.document.frozen import frozen
from kvinspect.document.refusal import Refused
from kvinspect.engine.align_answer import AnswerHeader
from kvinspect.engine.chain import Stages
from kvinspect.engine.release import EngineRelease


def cg_support_stages(cache: Stages, rules: GraphRules, setting: AnswerHeader) -> CGSupportAnswer:
    """What becomes of the CUDA graph mode of a cache. Raises Unknown for an unknown name."""
    document = cache.document
    requested = requested_mode(document)
    try:
        decision = decide(cache, rules)
    except Refused as refused:
        return CGSupportAnswer(setting, requested, refusal=refused.refusal.placed(document.where))
    start_up, graphs = _captured(decision, cache, rules)
    return CGSupportAnswer(
        setting._replace(kv_cache_layout=cache.layout.name),
        requested,
        decision,
        at_start_up=start_up,
        captured=graphs,
        open=tuple(_open(cache, rules, decision)),
        advice=advise(Decided(cache, rules, setting, decision)),
    )


def requested_mode(document: Document) -> CUDAGraphMode:
    """The mode that a document asks for."""
    return CUDAGraphMode[document.model.compilation_config.cudagraph_mode or "NONE"]


def _captured(decision: Decision, cache: Stages, rules: GraphRules) -> tuple[Resolution | None, Captured | None]:
    """What the configuration makes of the request, and the graphs of the mode that runs; it may refuse the sizes."""
    start_up = at_start_up(decision, cache, rules)
    mode = (start_up or decision.resolution).mode
    model = cache.document.model
    scheduler = model.scheduler_config
    batches = Batches(scheduler.max_num_seqs, scheduler.max_num_batched_tokens, decision.request.query_len)
    if mode is None or mode is CUDAGraphMode.NONE:
        return start_up, None
    try:
        limit = rules.capture_limit(cache.deployment.capability)
        sizes = capture_sizes(model.compilation_config, batches, limit, rules.decode_sizes)
        return start_up, rules.captured(mode, sizes, batches)
    except Refused as refused:
        return Resolution(None, (start_up or decision.resolution).steps, refused.refusal), None


def _open(cache: Stages, rules: GraphRules, decision: Decision) -> Iterator[Open]:
    """The open facts that a group's answer depends on, each with what comes out under each of its values."""
    needed = {key for group in decision.groups for case in group.level.cases for key in case.needs}
    if "capability_family" in needed:
        needed.add("capability")
    facts = {**dict.fromkeys(CANDIDATES, OPEN), **deployment_facts(cache.document)}
    defaults = assumed(facts)
    for key, by_platform in CANDIDATES.items():
        if key in needed and facts[key] is OPEN:
            values: tuple[Any, ...] = by_platform.get(cache.document.model.platform, (True, False))
            cases = tuple(_case(cache, rules, key, value) for value in values)
            yield Open(FACT_NAMES.get(key, key), defaults[key], cases)


FACT_NAMES = {"capability": "device_capability"}
"""How the document calls a fact, where conditions call it otherwise."""


def _case(cache: Stages, rules: GraphRules, key: str, value: Any) -> OpenCase:
    decided = decide(cache, rules, {key: value})
    return OpenCase(value, decided.info.min_cg_support, decided.info.min_cg_attn_backend, decided.resolution)


def matrix(release: EngineRelease, request: Request) -> ModeMatrix:
    """Every mode under every least support, with everything else as in a request."""
    cells = tuple(
        MatrixCell(mode, support, resolve(request._replace(mode=mode), AttentionCGSupportInfo(support, "the backend")))
        for mode in CUDAGraphMode
        for support in AttentionCGSupport
    )
    under = {key: value for key, value in request._asdict().items() if key not in ("mode", "state_blocks")}
    return ModeMatrix(release.version, frozen(under), cells)
