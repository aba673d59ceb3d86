"""CLIP's text model, which attends in one direction and keeps a cache."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.here import Here
from kvinspect.models.layers import Layer

ARCHITECTURES = ("CLIPEmbeddingModel",)


def layers(here: Here) -> Iterator[Layer]:
    """All heads have keys and values of their own."""
    text = here.text
    return here.decoder("text_model.encoder.layers", head_size=text.shared_out(), num_kv_heads=text.heads)
