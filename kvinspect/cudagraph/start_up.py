"""What `VllmConfig` makes of the requested mode before any backend is asked (`__post_init__`, 0.25 on).

Pooling models, KV connectors that ask for PIECEWISE, `enforce_eager` and breakable graphs, which
VLLM_USE_BREAKABLE_CUDAGRAPH and some architectures switch on, are not in a document.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.resolve import Request
from kvinspect.provenance import vllm


class Configured(NamedTuple):
    """The facts of a deployment that the configuration looks at."""

    platform: str
    compilation: str | None
    """The compilation mode."""
    encoder_decoder: bool
    """Whether a layer attends to an encoder's output."""


Change = tuple[CUDAGraphMode, str] | None
StartUpRule = Callable[[Request, Configured], Change]

UNCOMPILED = "the configuration sees that graphs in pieces need compilation mode VLLM_COMPILE"


@vllm("VllmConfig.__post_init__", until="0.29")
def nothing_uncompiled(request: Request, configured: Configured) -> Change:
    """Without vLLM's compilation a mode with pieces captures nothing (0.25 to 0.29)."""
    return (CUDAGraphMode.NONE, UNCOMPILED) if request.mode.piecewise and not request.vllm_compile else None


@vllm("VllmConfig._normalize_piecewise_cudagraph_mode", since="0.30")
def decodes_uncompiled(request: Request, configured: Configured) -> Change:
    """Without vLLM's compilation the pieces alone are given up (0.30 on)."""
    if not request.mode.piecewise or request.vllm_compile:
        return None
    whole = request.mode is CUDAGraphMode.FULL_AND_PIECEWISE
    return CUDAGraphMode.FULL_DECODE_ONLY if whole else CUDAGraphMode.NONE, UNCOMPILED


@vllm("VllmConfig.__post_init__", since="0.33")
def nothing_stock_compiled(request: Request, configured: Configured) -> Change:
    """Under stock torch.compile nothing is captured (0.33)."""
    stock = configured.compilation == "STOCK_TORCH_COMPILE"
    if not stock or request.mode is CUDAGraphMode.NONE:
        return None
    return (
        CUDAGraphMode.NONE,
        "the configuration does not support CUDA graphs around code compiled by stock torch.compile",
    )


@vllm("VllmConfig.__post_init__")
def decodes_of_encoder_decoder(request: Request, configured: Configured) -> Change:
    """Encoder-decoder models capture decodes only."""
    if not configured.encoder_decoder or request.mode in (CUDAGraphMode.NONE, CUDAGraphMode.FULL_DECODE_ONLY):
        return None
    return CUDAGraphMode.FULL_DECODE_ONLY, "the configuration lets an encoder-decoder model capture decodes only"


@vllm("CpuPlatform.check_and_update_config")
def nothing_on_cpu(request: Request, configured: Configured) -> Change:
    """The CPU has no graphs."""
    if configured.platform != "cpu" or request.mode is CUDAGraphMode.NONE:
        return None
    return CUDAGraphMode.NONE, "the configuration sees that the platform has no graphs"
