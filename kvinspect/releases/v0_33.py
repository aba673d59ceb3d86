"""vLLM 0.33: what it does otherwise than 0.30."""

from __future__ import annotations

from kvinspect.engine import pages
from kvinspect.engine.cudagraph import capture
from kvinspect.engine.cudagraph import start_up as configured
from kvinspect.engine.layout import steps
from kvinspect.engine.mm_prefix import ranges
from kvinspect.planning import backing, deployment, indexed, promote
from kvinspect.releases import v0_30

_BEFORE = v0_30.RELEASE

RELEASE = _BEFORE.but(
    version="0.33.0",
    decode_sizes=capture.decodes_of_all,
    start_up=(*_BEFORE.start_up, configured.nothing_stock_compiled),
    customized_spec=pages.customized_splittable,
    mm_spans=ranges.spans_of_model,
    storage=_BEFORE.storage._replace(
        layout=steps.layout_by_backends_and_sharding,
        tensors=steps.tensors_by_stride,
        kernel_block_sizes=steps.kernel_block_sizes_of_dense,
    ),
    indexed=indexed.no_rule,
    deployment=deployment.of_resident_states,
    without_hybrid_manager=promote.promoted_by_sharding,
    layout=backing.layout_of_backends_and_sharding,
    bytes_per_block=backing.bytes_by_stride,
    tensors=backing.tensors_by_stride,
    models=_BEFORE.models._replace(
        prefix_by_flash_attention=(3, 4),
        block_of_all_backends=True,
        block_of_large_fp8_heads=64,
        gemma4_by_layer=True,
        names_of_modules=True,
        states_checkpoint=True,
        weigh_ahead=("FalconH1ForCausalLM", "GraniteMoeHybridForCausalLM", "Zamba2ForCausalLM"),
        intervals_of_qwen3_next=True,
        small_capabilities=("12.1",),
        exaone_moe_windows=("sliding_windows", "sliding_window"),
    ),
)
