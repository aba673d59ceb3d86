"""What sort of file a parsed text is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from kvinspect.data import flags
from kvinspect.data.catalogue import versions

FileKind = Literal["document", "model", "serve", "other"]

DOCUMENT_KEYS = frozenset(
    ("kv_cache_config", "kv_cache_specs", "attention_groups", "encoder_attention_groups", "multimodal")
)
_INSIDE: Mapping[str, frozenset[str]] = {
    "kv_cache_config": frozenset(("num_blocks", "kv_cache_groups", "kv_cache_tensors")),
    "multimodal": frozenset(("sliding_window", "requests")),
}
"""Keys that other programs have as well → keys of which a document's has one."""

MODEL_KEYS = frozenset(("architectures", "model_type", "hidden_size", "num_hidden_layers", "text_config"))


def kind_of(value: Any, name: str) -> FileKind:
    """An inspection document, a model's config.json, a `vllm serve --config` file, or none of these.

    A serve file is YAML whose keys are flags of some release, at least one of them and at least half.
    """
    if not isinstance(value, Mapping) or not value:
        return "other"
    keys = {key for key in value if isinstance(key, str)}
    if any(_is_documents(key, value[key]) for key in keys & DOCUMENT_KEYS):
        return "document"
    if len(keys & MODEL_KEYS) >= 2 or "architectures" in keys:
        return "model"
    known = sum(any(flags.read(version).find(key) for version in versions()) for key in keys)
    is_yaml = not name.lower().endswith(".json")
    return "serve" if is_yaml and known and 2 * known >= len(value) else "other"


def _is_documents(key: str, value: Any) -> bool:
    """Whether the value of a document's key may be a document's: TensorRT-LLM has a `kv_cache_config` of its own."""
    return key not in _INSIDE or not isinstance(value, Mapping) or not value or bool(_INSIDE[key] & value.keys())
