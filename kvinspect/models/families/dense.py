"""Decoders that have nothing of their own as far as the cache goes: only names and head sizes differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope


class Dense(NamedTuple):
    """Where the stack and a layer's attention stand, and whether `head_dim` counts or the hidden size is shared out."""

    stack: str = "model.layers"
    attention: str = "self_attn.attn"
    has_head_dim: bool = False
    has_kv_heads: bool = True


_LLAMA_LIKE = Dense(has_head_dim=True)

ARCHITECTURES: dict[str, Dense] = {
    **dict.fromkeys(
        ("Ernie4_5_MoeForCausalLM", "Glm4ForCausalLM", "Glm4MoeForCausalLM", "GraniteForCausalLM",
         "MiniMaxM2ForCausalLM",
         "MixtralForCausalLM", "NemotronForCausalLM", "SolarForCausalLM", "HYV3ForCausalLM", "HyperCLOVAXForCausalLM",
         "GemmaForCausalLM", "PhiMoEForCausalLM", "K2HorizonForCausalLM"),
        _LLAMA_LIKE,
    ),
    **dict.fromkeys(
        ("ArcticForCausalLM", "GraniteMoeForCausalLM", "GraniteMoeSharedForCausalLM", "MiniCPMForCausalLM",
         "OlmoeForCausalLM", "FlexOlmoForCausalLM", "OrionForCausalLM", "StablelmForCausalLM"),
        Dense(),
    ),
    "ChameleonForConditionalGeneration": Dense(),
    **dict.fromkeys(("Param2MoEForCausalLM", "SarvamMoEForCausalLM", "Phi4MMForCausalLM"), _LLAMA_LIKE),
    "MolmoForCausalLM": Dense(),
    "Molmo2ForConditionalGeneration": _LLAMA_LIKE,
    "Ernie4_5_VLMoeForConditionalGeneration": Dense("language_model.model.layers", has_head_dim=True),
    "InternLM2ForCausalLM": Dense(attention="attention.attn"),
    "InternLM2ForRewardModel": Dense(attention="attention.attn"),
    "BailingMoeForCausalLM": Dense(attention="attention.attn", has_head_dim=True),
    "BailingMoeV2ForCausalLM": Dense(attention="attention.attn", has_head_dim=True),
    "ExaoneForCausalLM": Dense("model.h", "attn.attention.attn", has_head_dim=True),
    "Moondream3ForCausalLM": Dense("text.blocks", "attn.attn"),
    "PhiForCausalLM": Dense(has_kv_heads=False),
    "GPT2LMHeadModel": Dense("transformer.h", "attn.attn", has_kv_heads=False),
    "GPT2ForSequenceClassification": Dense("transformer.h", "attn.attn", has_kv_heads=False),
    "GPTJForCausalLM": Dense("transformer.h", "attn.attn", has_kv_heads=False),
    "GPTNeoXForCausalLM": Dense("gpt_neox.layers", "attention.attn", has_kv_heads=False),
    "OPTForCausalLM": Dense("model.decoder.layers", "self_attn.attn", has_kv_heads=False),
    "BloomForCausalLM": Dense("transformer.h", "self_attention.attn", has_kv_heads=False),
}  # fmt: skip


def layers(scope: Scope) -> Iterator[Layer]:
    """One attention a layer."""
    text = scope.text
    way = ARCHITECTURES[scope.cls]
    size = text.head_dim if way.has_head_dim else text.shared_out()
    kv = text.kv_heads if way.has_kv_heads else text.heads
    for layer in scope.decoder(way.stack, way.attention, head_size=size, num_kv_heads=kv):
        yield layer._replace(repeats_kv_heads=scope.cls != "Param2MoEForCausalLM")
