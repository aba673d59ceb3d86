"""MPT and DBRX, whose KV heads stand under `attn_config`."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("MPTForCausalLM", "DbrxForCausalLM")


def layers(scope: Scope) -> Iterator[Layer]:
    """Both call a layer a block."""
    kv = scope.setting.shape.kv_heads
    return scope.decoder("transformer.blocks", "attn.attn", head_size=scope.text.shared_out(), num_kv_heads=kv)
