"""What the configuration of CUDA graphs refuses."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.configuration.call import Call, Rule, Stop, whole
from kvinspect.provenance import vllm


@vllm("VllmConfig._set_cudagraph_sizes", until="0.29")
def sizes_that_agree_where_compiled(call: Call) -> Iterator[Stop]:
    """Like `sizes_that_agree`; without compilation a mode with pieces captures nothing (0.25 to 0.29)."""
    uncompiled = str(call.graphs.get("mode", "")).upper() in ("0", "NONE")
    if not uncompiled or _mode(call) in ("FULL", "FULL_DECODE_ONLY"):
        yield from sizes_that_agree(call)


@vllm("VllmConfig._set_cudagraph_sizes", since="0.30")
def sizes_that_agree(call: Call) -> Iterator[Stop]:
    """There is a size to capture, and the largest is the one that is written beside them."""
    sizes, largest = call.graphs.get("cudagraph_capture_sizes"), whole(call.graphs.get("max_cudagraph_capture_size"))
    if not isinstance(sizes, (list, tuple)) or _mode(call) == "NONE" or call.is_on("enforce_eager"):
        return
    if not sizes:
        yield Stop("cudagraph_capture_sizes", "cudagraph_capture_sizes is empty, and CUDA graphs are captured")
        return
    top = max((size for size in map(whole, sizes) if size is not None and size <= call.batches[0]), default=0)
    if largest not in (None, top):
        text = f"max_cudagraph_capture_size is {largest}, and the largest of cudagraph_capture_sizes is {top}"
        yield Stop("max_cudagraph_capture_size", text)


def _mode(call: Call) -> str:
    return str(call.graphs.get("cudagraph_mode", "")).upper()


@vllm("VllmConfig.__post_init__", since="0.29")
def encoders_that_run(call: Call) -> Iterator[Stop]:
    """No graphs of an encoder that never runs (0.29 on)."""
    both = call.arguments.language_model_only and call.graphs.get("cudagraph_mm_encoder") is True
    if both and "multimodal" in call.setting.architecture.flags:
        yield Stop("language_model_only", "language_model_only does not go with cudagraph_mm_encoder")


RULES: tuple[Rule, ...] = (sizes_that_agree_where_compiled, sizes_that_agree, encoders_that_run)
