"""EAGLE and EAGLE-3 drafts: a few layers of Llama's or DeepSeek's kind, numbered behind the target's."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import latent
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope, by_layer_type

OF_HEADS = ("EagleLlamaForCausalLM", "Eagle3LlamaForCausalLM", "EagleMistralForCausalLM", "Eagle3Qwen3ForCausalLM")
OF_LATENTS = ("EagleDeepseekV3ForCausalLM", "Eagle3DeepseekV2ForCausalLM", "EagleMistralLarge3ForCausalLM")
ARCHITECTURES = (*OF_HEADS, *OF_LATENTS)


def layers(scope: Scope) -> Iterator[Layer]:
    """One attention a layer."""
    text, first = scope.text, scope.model.text.layers
    for i in range(text.layers):
        prefix = f"model.layers.{first + i}.self_attn"
        if scope.cls in OF_LATENTS:
            yield from latent(scope, prefix, first + i)
        else:
            name, window = scope.named(f"{prefix}.attn"), by_layer_type(text, i)
            yield Attention(name, first + i, text.heads, text.kv_heads, text.head_dim, sliding_window=window)
