"""LongCat-Flash: two latent attentions in every layer."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import latent
from kvinspect.models.here import Here
from kvinspect.models.layers import Layer

ARCHITECTURES = ("LongcatFlashForCausalLM", "LongcatFlashNgramForCausalLM")


def layers(here: Here) -> Iterator[Layer]:
    """`num_layers` counts the layers of the n-gram model, whose `num_hidden_layers` counts attentions."""
    text = here.text
    count = text.count("num_layers", text.layers) if here.cls == "LongcatFlashNgramForCausalLM" else text.layers
    for i in range(count):
        for half in range(2):
            yield from latent(here, f"model.layers.{i}.self_attn.{half}", i)
