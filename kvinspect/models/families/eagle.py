"""EAGLE and EAGLE-3 drafts: a few layers of Llama's or DeepSeek's kind, numbered behind the target's."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import latent
from kvinspect.models.here import Here, by_layer_type
from kvinspect.models.layers import Attention, Layer

OF_HEADS = ("EagleLlamaForCausalLM", "Eagle3LlamaForCausalLM", "EagleMistralForCausalLM", "Eagle3Qwen3ForCausalLM")
OF_LATENTS = ("EagleDeepseekV3ForCausalLM", "Eagle3DeepseekV2ForCausalLM", "EagleMistralLarge3ForCausalLM")
ARCHITECTURES = (*OF_HEADS, *OF_LATENTS)


def layers(here: Here) -> Iterator[Layer]:
    """One attention a layer."""
    text, first = here.text, here.model.text.layers
    for i in range(text.layers):
        prefix = f"model.layers.{first + i}.self_attn"
        if here.cls in OF_LATENTS:
            yield from latent(here, prefix, first + i)
        else:
            name, window = here.named(f"{prefix}.attn"), by_layer_type(text, i)
            yield Attention(name, first + i, text.heads, text.kv_heads, text.head_dim, sliding_window=window)
