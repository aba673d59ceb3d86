"""LongCat-Flash: two latent attentions in every layer."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import latent
from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("LongcatFlashForCausalLM", "LongcatFlashNgramForCausalLM")


def layers(scope: Scope) -> Iterator[Layer]:
    """Both attentions of a layer have its number."""
    for i in range(scope.text.layers):
        for half in range(2):
            yield from latent(scope, f"model.layers.{i}.self_attn.{half}", i)
