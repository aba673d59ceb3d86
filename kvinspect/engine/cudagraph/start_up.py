"""What `VllmConfig` makes of the requested mode before any backend is asked (`__post_init__`, 0.25 on).

Pooling models, KV connectors that ask for PIECEWISE, `enforce_eager` and breakable graphs, which
VLLM_USE_BREAKABLE_CUDAGRAPH and some architectures switch on, are not in a document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kvinspect.engine.cudagraph.mode import CUDAGraphMode
from kvinspect.engine.cudagraph.resolve import Request, Resolution, Step, resolve

if TYPE_CHECKING:
    from kvinspect.engine.cache import Cache
    from kvinspect.engine.cudagraph.decide import Decision


def at_start_up(decision: Decision, cache: Cache) -> Resolution | None:
    """The resolution of what the configuration hands over, its steps first; None where it hands over what is asked."""
    request, steps = decision.request, []
    for rule in cache.release.start_up:
        found = rule(request, cache)
        if found:
            steps.append(Step(request.mode, *found))
            request = request._replace(mode=found[0])
    if not steps:
        return None
    after = resolve(request, decision.info)
    return after._replace(steps=(*steps, *after.steps))


def running(decision: Decision, cache: Cache) -> Resolution:
    """The resolution of what really reaches it: the mode that the configuration hands over."""
    return at_start_up(decision, cache) or decision.resolution


Change = tuple[CUDAGraphMode, str] | None
StartUpRule = Callable[[Request, "Cache"], Change]

UNCOMPILED = "the configuration sees that graphs in pieces need compilation mode VLLM_COMPILE"


def nothing_uncompiled(request: Request, cache: Cache) -> Change:
    """Without vLLM's compilation a mode with pieces captures nothing (0.25 to 0.29)."""
    return (CUDAGraphMode.NONE, UNCOMPILED) if request.mode.piecewise and not request.vllm_compile else None


def decodes_uncompiled(request: Request, cache: Cache) -> Change:
    """Without vLLM's compilation the pieces alone are given up (0.30 on)."""
    if not request.mode.piecewise or request.vllm_compile:
        return None
    whole = request.mode is CUDAGraphMode.FULL_AND_PIECEWISE
    return CUDAGraphMode.FULL_DECODE_ONLY if whole else CUDAGraphMode.NONE, UNCOMPILED


def nothing_stock_compiled(request: Request, cache: Cache) -> Change:
    """Under stock torch.compile nothing is captured (0.33)."""
    stock = cache.document.model.compilation_config.mode == "STOCK_TORCH_COMPILE"
    if not stock or request.mode is CUDAGraphMode.NONE:
        return None
    return CUDAGraphMode.NONE, "the configuration takes no graphs around what stock torch.compile has compiled"


def decodes_of_encoder_decoder(request: Request, cache: Cache) -> Change:
    """Encoder-decoder models capture decodes only."""
    cross = any(group.first_spec.kind == "cross_attention" for group in cache.groups)
    if not cross or request.mode in (CUDAGraphMode.NONE, CUDAGraphMode.FULL_DECODE_ONLY):
        return None
    return CUDAGraphMode.FULL_DECODE_ONLY, "the configuration lets an encoder-decoder model capture decodes only"


def nothing_on_cpu(request: Request, cache: Cache) -> Change:
    """The CPU has no graphs."""
    if cache.situation.platform != "cpu" or request.mode is CUDAGraphMode.NONE:
        return None
    return CUDAGraphMode.NONE, "the configuration sees that the platform has no graphs"
