"""What `VllmConfig` makes of the requested mode before any backend is asked (`__post_init__`, 0.25 to 0.28).

Pooling models, KV connectors that ask for PIECEWISE, `enforce_eager` and breakable graphs are not in a document.
"""

from __future__ import annotations

from kvinspect.engine.cudagraph.decide import Decision
from kvinspect.engine.cudagraph.mode import CUDAGraphMode
from kvinspect.engine.cudagraph.resolve import Request, Resolution, Step, resolve


def at_start_up(decision: Decision) -> Resolution | None:
    """The resolution of what the configuration hands over, its steps first; None where it hands over what is asked."""
    request, steps = decision.request, []
    for rule in (_compiled, _encoder_decoder, _platform):
        found = rule(request, decision)
        if found:
            steps.append(Step(request.mode, *found))
            request = request._replace(mode=found[0])
    if not steps:
        return None
    after = resolve(request, decision.info)
    return after._replace(steps=(*steps, *after.steps))


def running(decision: Decision) -> Resolution:
    """The resolution of what really reaches it: the mode that the configuration hands over."""
    return at_start_up(decision) or decision.resolution


Change = tuple[CUDAGraphMode, str] | None


def _compiled(request: Request, decision: Decision) -> Change:
    if not request.mode.piecewise or request.vllm_compile:
        return None
    return CUDAGraphMode.NONE, "the configuration sees that graphs in pieces need compilation mode VLLM_COMPILE"


def _encoder_decoder(request: Request, decision: Decision) -> Change:
    cross = any(group.first_spec.kind == "cross_attention" for group in decision.cache.groups)
    if not cross or request.mode in (CUDAGraphMode.NONE, CUDAGraphMode.FULL_DECODE_ONLY):
        return None
    return CUDAGraphMode.FULL_DECODE_ONLY, "the configuration lets an encoder-decoder model capture decodes only"


def _platform(request: Request, decision: Decision) -> Change:
    if decision.cache.situation.platform != "cpu" or request.mode is CUDAGraphMode.NONE:
        return None
    return CUDAGraphMode.NONE, "the configuration sees that the platform has no graphs"
