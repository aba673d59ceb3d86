"""Decoders with a sliding window on some layers, told by `layer_types` and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here, by_layer_type
from kvinspect.models.layers import Layer

SHARED_OUT = ("CohereForCausalLM", "Olmo2ForCausalLM", "Olmo3ForCausalLM")
"""Classes whose head size is the hidden size shared out, whatever `head_dim` says."""

COHERE = ("CohereForCausalLM", "Cohere2MoeForCausalLM")

ARCHITECTURES = (
    *SHARED_OUT, "Cohere2MoeForCausalLM", "Exaone4ForCausalLM", "Gemma2ForCausalLM", "Gemma3ForCausalLM", "Gemma3Model",
    "AfmoeForCausalLM", "MellumForCausalLM", "Rnj1ForCausalLM", "MuseGlimmerForCausalLM", "BeamForCausalLM",
    "FlintForCausalLM",
)  # fmt: skip


def layers(here: Here) -> Iterator[Layer]:
    """Layers called `sliding_attention` have the model's window, the others none."""
    itself = here.cls in COHERE and here.rules.cohere_window_counts_itself
    size = here.text.shared_out() if here.cls in SHARED_OUT else here.text.head_dim
    stack = "model.layers" if here.cls != "Gemma3Model" else here.bare("layers")
    encodes = here.cls == "Gemma3Model" and here.text.flag("use_bidirectional_attention")
    for layer in here.decoder(stack, head_size=size, window=by_layer_type):
        window = layer.sliding_window + 1 if itself and layer.sliding_window else layer.sliding_window
        yield layer._replace(sliding_window=window, attn_type="encoder_only" if encodes else layer.attn_type)
