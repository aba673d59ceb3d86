"""Whether attention looks one way, where a checkpoint says so in words of its own."""

from __future__ import annotations

from kvinspect.models.fields import Fields

COLQWEN, D3 = "ColQwen3_5", "D3ForSequenceClassification"
"""Names under which the registry has the classes that read such a contract."""

NONCAUSAL = "noncausal_full_attention"


def declared_causal(config: Fields, registered: str, colqwen_declares: bool) -> bool | None:
    """What the model's contract says, None for models that have none. Raises DocumentError for one that is broken."""
    if registered == D3:
        return config.mapping("decision_config").word("attention_mode", "causal", ("causal", NONCAUSAL)) == "causal"
    if registered != COLQWEN:
        return None
    return colqwen_declares and _contract(config) == "causal"


def _contract(config: Fields) -> str:
    """ColQwen 3.5's `retrieval_attention_contract`, of the whole or of its language model."""
    key = "retrieval_attention_contract"
    holder = config if key in config else config.text
    return holder.word(key, choices=("causal", "bidirectional"))
