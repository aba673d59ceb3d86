"""Decoders with a sliding window on some layers, told by `layer_types` and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope, by_layer_type

SHARED_OUT = ("CohereForCausalLM", "Olmo2ForCausalLM", "Olmo3ForCausalLM")
"""Classes whose head size is the hidden size shared out, whatever `head_dim` says."""

COHERE = ("CohereForCausalLM", "Cohere2MoeForCausalLM")

ARCHITECTURES = (
    *SHARED_OUT, "Cohere2MoeForCausalLM", "Exaone4ForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3Model",
    "AfmoeForCausalLM", "MellumForCausalLM", "Rnj1ForCausalLM", "MuseGlimmerForCausalLM", "BeamForCausalLM",
    "FlintForCausalLM", "CohereCompassForConditionalGeneration", "MuseSparkForConditionalGeneration",
)  # fmt: skip

_STACKS = {"CohereCompassForConditionalGeneration": "language_model.model.layers"}


def layers(scope: Scope) -> Iterator[Layer]:
    """Layers called `sliding_attention` have the model's window, the others none."""
    itself = scope.cls in COHERE and scope.rules.cohere_window_counts_itself
    size = scope.text.shared_out() if scope.cls in SHARED_OUT else scope.text.head_dim
    stack = _STACKS.get(scope.cls, "model.layers") if scope.cls != "Gemma3Model" else scope.bare("layers")
    encodes = scope.cls == "Gemma3Model" and scope.text.flag("use_bidirectional_attention")
    for layer in scope.decoder(stack, head_size=size, window=by_layer_type):
        window = layer.sliding_window + 1 if itself and layer.sliding_window else layer.sliding_window
        yield layer._replace(sliding_window=window, attn_type="encoder_only" if encodes else layer.attn_type)
