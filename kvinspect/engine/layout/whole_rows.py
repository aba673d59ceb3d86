"""Whether a latent layer's blocks lie whole rows apart, as kernels need that see the cache as one array of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvinspect.backends.backend import Backend
from kvinspect.document.document import TENSORS, Tensor
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.start_up_steps import stage
from kvinspect.provenance import vllm
from kvinspect.specs.kinds import LayerSpec


@vllm("MLAAttention.bind_kv_cache", since="0.30")
def check_rows(tensors: Sequence[Tensor], groups: Sequence[KVCacheGroup], by_rows: Mapping[str, Backend]) -> None:
    """Nothing where every layer of `by_rows` can be bound. Raises Refused where a block begins inside a token's row."""
    home = {layer: group for group in groups for layer in group.layer_names}
    with stage("bind", "MLAAttention.bind_kv_cache"):
        for tensor in tensors:
            for layer in filter(by_rows.__contains__, tensor.shared_by):
                _check(tensor, layer, home[layer].spec_of(layer), by_rows[layer])


def _check(tensor: Tensor, layer: str, spec: LayerSpec, backend: Backend) -> None:
    if not spec.is_attention or (spec.cache_dtype_str or "auto") not in backend.entry["binds_whole_rows"]:
        return
    rest = tensor.block_stride % spec.content_bytes
    if rest:
        text = (
            f"blocks of {layer} lie {counted(tensor.block_stride, 'byte')} apart, which is no multiple of a token's "
            f"{counted(spec.content_bytes, 'byte')} ({rest} are left over), and {backend.name} reads the cache as one "
            "array of tokens; choose a VLLM_KV_CACHE_LAYOUT with the layers outermost, such as LBNHC, or set "
            "enable_jit_warmup to false in --kernel-config"
        )
        raise Refused("AssertionError", text, path=(*TENSORS, tensor.id), kind="partial-row")
