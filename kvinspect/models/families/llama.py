"""Llama, and the many models that vLLM runs as one: Mistral, Phi-3, GLM-4-0414's small siblings, Ernie 4.5, …"""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope, by_layer_type

ARCHITECTURES = (
    "LlamaForCausalLM", "LlamaBidirectionalModel", "LlamaBidirectionalForSequenceClassification",
    "MistralForCausalLM",
    "Phi3ForCausalLM", "Ernie4_5ForCausalLM", "Fairseq2LlamaForCausalLM", "GlmForCausalLM", "GritLM",
    "ArceeForCausalLM",
    "TeleChat2ForCausalLM", "TeleFLMForCausalLM", "ApertusForCausalLM",
)  # fmt: skip


def layers(scope: Scope) -> Iterator[Layer]:
    """Windows by `layer_types` where there are any; a model that is not causal keeps no cache."""
    return scope.decoder(window=by_layer_type, may_look_both_ways=True)
