"""MiniCPM 3, whose latent vectors are made into heads before they are cached."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import expanded
from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("MiniCPM3ForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """One attention a layer."""
    return (expanded(scope, f"model.layers.{i}.self_attn.attn", i) for i in range(scope.text.layers))
