"""Encoders that make vectors or classes of a text: they attend bidirectionally in one pass and keep no cache."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope

_BERT = "model.encoder.layer.{}.attention.output.attn"
_BERT_WITH_HEAD = "bert.encoder.layer.{}.attention.output.attn"
_ROBERTA_WITH_HEAD = "roberta.encoder.layer.{}.attention.output.attn"

ARCHITECTURES = {
    "ColBERTModel": _BERT,
    "ColModernVBertForRetrieval": "{}.attn",
    "ColUltraVBertForRetrieval": "text_model.layers.{}.self_attn.attn",
    "EmbeddingGemma2Model": "language_model.layers.{}.self_attn.attn",
    "OpenAIPrivacyFilterForTokenClassification": "model.layers.{}.attn.attn",
    **dict.fromkeys(("NomicBertModel", "GteNewModel", "SnowflakeGteNewModel"), ".encoder.layer.{}.attention.attn"),
    "GteNewForSequenceClassification": "new.encoder.layer.{}.attention.attn",
    "ColBERTJinaRobertaModel": ".encoder.layer.{}.attention.attn",
    **dict.fromkeys(("BertEmbeddingModel", "BertForMaskedLM", "BertSpladeSparseEmbeddingModel"), _BERT),
    **dict.fromkeys(("RobertaEmbeddingModel", "BgeM3EmbeddingModel"), _BERT),
    **dict.fromkeys(("BertForSequenceClassification", "BertForTokenClassification"), _BERT_WITH_HEAD),
    **dict.fromkeys(("RobertaForSequenceClassification", "RobertaForTokenClassification"), _ROBERTA_WITH_HEAD),
    **dict.fromkeys(
        (
            "ModernBertModel",
            "ModernBertForSequenceClassification",
            "ModernBertForTokenClassification",
            "ColBERTModernBertModel",
        ),
        "{}.attn",
    ),
    "SiglipEmbeddingModel": "text_model.encoder.layers.{}.self_attn.attn",
}


def layers(scope: Scope) -> Iterator[Layer]:
    """One attention a layer, of type `encoder_only`."""
    text = scope.text
    name = ARCHITECTURES[scope.cls]
    for i in range(text.layers):
        yield Attention(scope.named(name.format(i)), i, text.heads, text.heads, text.head_dim, attn_type="encoder_only")
