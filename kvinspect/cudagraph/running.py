"""The mode that really runs: what the configuration makes of the request, resolved against the backends."""

from __future__ import annotations

from kvinspect.cudagraph.decide import Decision, decide
from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.resolve import Resolution, Step, resolve
from kvinspect.cudagraph.rules import GraphRules
from kvinspect.cudagraph.start_up import Configured
from kvinspect.engine.chain import Stages


def at_start_up(decision: Decision, cache: Stages, rules: GraphRules) -> Resolution | None:
    """The resolution of what the configuration hands over, its steps first; None where it hands over what is asked."""
    request, steps = decision.request, list[Step]()
    configured = _configured(cache)
    for rule in rules.start_up:
        found = rule(request, configured)
        if found:
            steps.append(Step(request.mode, *found))
            request = request._replace(mode=found[0])
    if not steps:
        return None
    after = resolve(request, decision.info)
    return after._replace(steps=(*steps, *after.steps))


def running(decision: Decision, cache: Stages, rules: GraphRules) -> Resolution:
    """The resolution of what really reaches it: the mode that the configuration hands over."""
    return at_start_up(decision, cache, rules) or decision.resolution


def mode_of(cache: Stages, rules: GraphRules) -> CUDAGraphMode | None:
    """The mode in which a cache really runs, None where none fits. Raises as `decide`."""
    return running(decide(cache, rules), cache, rules).mode


def _configured(cache: Stages) -> Configured:
    cross = any(group.first_spec.attn_type == "encoder_decoder" for group in cache.groups)
    return Configured(cache.deployment.platform, cache.document.model.compilation_config.mode, cross)
