"""Models that vLLM runs with transformers' own modules: one attention a layer."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.resolve import window_of
from kvinspect.models.scope import Scope

ARCHITECTURES = (
    "TransformersForCausalLM", "TransformersMoEForCausalLM", "TransformersMultiModalForCausalLM",
    "TransformersMultiModalMoEForCausalLM", "TransformersEmbeddingModel", "TransformersMoEEmbeddingModel",
    "TransformersMultiModalEmbeddingModel", "TransformersForSequenceClassification",
    "TransformersMoEForSequenceClassification", "TransformersMultiModalForSequenceClassification",
)  # fmt: skip


ENCODERS = frozenset({
    "albert", "bert", "bert-generation", "camembert", "data2vec-text", "distilbert", "electra", "ernie", "esm",
    "eurobert", "jina_embeddings_v3", "mobilebert", "modernbert", "nomic_bert", "roberta", "roberta-prelayernorm",
    "roc_bert", "xlm-roberta", "xlm-roberta-xl", "xmod",
})  # fmt: skip
"""Model types that attend bidirectionally unless their configuration makes them decoders."""

STATES = ("linear_attention", "mamba", "conv", "recurrent")
"""Kinds of layers that keep states, which vLLM has no way to handle in transformers' modules."""

MODULES = {
    "gpt2": "model.h.{}.attn.attn",
    "gpt_bigcode": "model.h.{}.attn.attn",
    "gptj": "model.h.{}.attn.attn",
    "codegen": "model.h.{}.attn.attn",
    "gpt_neox": "model.layers.{}.attention.attn",
    "opt": "model.decoder.layers.{}.self_attn.attn",
}
"""Model types whose modules are not called as most models' are."""


def _name(scope: Scope) -> str:
    """A layer's name: its number, or from 0.33 on where its module stands in the model."""
    if not scope.setting.rules.names_of_modules:
        return "{}.attn"
    return MODULES.get(scope.text.model_type, "model.layers.{}.self_attn.attn")


def layers(scope: Scope) -> Iterator[Layer]:
    """All heads are the model's as a whole; windows go by the `layer_types` of the outer configuration.

    A model without images whose layers are no decoder's keeps no cache.
    """
    shape, text = scope.setting.shape, scope.text
    kinds = scope.config.words("layer_types")
    encodes = text is scope.config and text.model_type in ENCODERS and not text.flag("is_decoder")
    name = _name(scope)
    if scope.rules.transformers_attend and (other := next((kind for kind in kinds if kind in STATES), None)):
        scope.config.refuse("layer_types", f"the engine runs no layers of the kind {other} with transformers' modules")
    for i in range(text.layers):
        sliding = i < len(kinds) and kinds[i] == "sliding_attention"
        yield Attention(
            scope.named(name.format(i)),
            i,
            text.heads,
            max(1, shape.kv_heads),
            shape.head_size or text.shared_out(),
            sliding_window=window_of(scope.config) if sliding else None,
            attn_type="encoder_only" if encodes else "decoder",
        )
