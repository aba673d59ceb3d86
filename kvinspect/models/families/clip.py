"""CLIP's text model, which attends in one direction and keeps a cache."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("CLIPEmbeddingModel",)


def layers(scope: Scope) -> Iterator[Layer]:
    """All heads have keys and values of their own."""
    text = scope.text
    return scope.decoder("text_model.encoder.layers", head_size=text.shared_out(), num_kv_heads=text.heads)
