"""Models that vLLM runs with transformers' own modules: one attention a layer, named by its number."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.resolve import window_of

ARCHITECTURES = (
    "TransformersForCausalLM", "TransformersMoEForCausalLM", "TransformersMultiModalForCausalLM",
    "TransformersMultiModalMoEForCausalLM", "TransformersEmbeddingModel", "TransformersMoEEmbeddingModel",
    "TransformersMultiModalEmbeddingModel", "TransformersForSequenceClassification",
    "TransformersMoEForSequenceClassification", "TransformersMultiModalForSequenceClassification",
)  # fmt: skip


def layers(here: Here) -> Iterator[Layer]:
    """All heads are the model's as a whole; windows go by the `layer_types` of the outer configuration.

    A model without images whose layers are no decoder's keeps no cache.
    """
    shape, text = here.setting.shape, here.text
    kinds = here.config.get("layer_types")
    encodes = text is here.config and text.get("is_decoder") is False
    for i in range(text.layers):
        sliding = isinstance(kinds, list) and i < len(kinds) and kinds[i] == "sliding_attention"
        yield Attention(
            here.named(f"{i}.attn"),
            i,
            shape.heads,
            max(1, shape.kv_heads),
            shape.head_size,
            sliding_window=window_of(here.config) if sliding else None,
            attn_type="encoder_only" if encodes else "decoder",
        )
