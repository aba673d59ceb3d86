"""MPT and DBRX, whose KV heads stand under `attn_config`."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Layer

ARCHITECTURES = ("MPTForCausalLM", "DbrxForCausalLM")


def layers(here: Here) -> Iterator[Layer]:
    """Both call a layer a block."""
    kv = here.setting.shape.kv_heads
    return here.decoder("transformer.blocks", "attn.attn", head_size=here.text.shared_out(), num_kv_heads=kv)
