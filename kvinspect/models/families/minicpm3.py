"""MiniCPM 3, whose latent vectors are made into heads before they are cached."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import expanded
from kvinspect.models.here import Here
from kvinspect.models.layers import Layer

ARCHITECTURES = ("MiniCPM3ForCausalLM",)


def layers(here: Here) -> Iterator[Layer]:
    """One attention a layer."""
    return (expanded(here, f"model.layers.{i}.self_attn.attn", i) for i in range(here.text.layers))
