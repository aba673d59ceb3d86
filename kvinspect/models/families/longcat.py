"""LongCat-Flash: two latent attentions in every layer."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import latent
from kvinspect.models.here import Here
from kvinspect.models.layers import Layer

ARCHITECTURES = ("LongcatFlashForCausalLM", "LongcatFlashNgramForCausalLM")


def layers(here: Here) -> Iterator[Layer]:
    """Both attentions of a layer have its number."""
    for i in range(here.text.layers):
        for half in range(2):
            yield from latent(here, f"model.layers.{i}.self_attn.{half}", i)
