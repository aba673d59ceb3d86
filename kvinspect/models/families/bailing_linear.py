"""Ring and Ling 2.5 and 3 (Bailing): linear attention or Kimi's, and latent attention at every group's end."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Latent, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import States

ARCHITECTURES = ("BailingMoeV25ForCausalLM", "BailingMoeV3ForCausalLM")


def layers(scope: Scope) -> Iterator[Layer]:
    """`layer_group_size` layers are a group; from version 3 on layers left over behind the last group are latent."""
    text, states = scope.text, States(scope)
    group = text.count("layer_group_size", 1)
    nope = text.count("qk_nope_head_dim", 128)
    size = text.count("kv_lora_rank", 512) + text.count("qk_rope_head_dim", 64)
    for i in range(text.layers):
        prefix = f"model.layers.{i}.self_attn"
        if not _is_linear(scope, i, group):
            yield Latent(scope.named(f"{prefix}.attn"), i, text.heads, size, facts={"qk_nope_head_dim": nope})
        elif scope.cls == "BailingMoeV3ForCausalLM":
            kernel = text.count("short_conv_kernel_size", least=2)
            yield states.kimi_delta(prefix, i, text.heads, text.head_dim, kernel, None)
        else:
            yield states.linear(prefix, i, text.heads, text.head_dim, "BAILING_LINEAR_ATTN")


def _is_linear(scope: Scope, layer: int, group: int) -> bool:
    behind = scope.cls == "BailingMoeV3ForCausalLM" and layer >= scope.text.layers // group * group
    return (layer + 1) % group != 0 and not behind
