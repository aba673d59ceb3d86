"""Qwen 2 and 3, dense and with experts, and models made like them."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.fields import Fields
from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

SHARED_OUT = (
    "Qwen2ForCausalLM",
    "Qwen2MoeForCausalLM",
    "Qwen2ForRewardModel",
    "Qwen2ForProcessRewardModel",
    "MiMoForCausalLM",
)
"""Classes whose head size is the hidden size shared out, whatever `head_dim` says."""

ARCHITECTURES = (
    *SHARED_OUT,
    "Qwen3ForCausalLM",
    "Qwen3MoeForCausalLM",
    "SeedOssForCausalLM",
    "VoyageQwen3BidirectionalEmbedModel",
    "JinaForRanking",
    "JinaEmbeddingsV5Model",
)


WITH_EXPERTS = ("Qwen2MoeForCausalLM", "Qwen3MoeForCausalLM", "SeedOssForCausalLM")
"""Classes whose layers may be of several kinds, though none has a window of its own."""


def layers(scope: Scope) -> Iterator[Layer]:
    """No layer has a window of its own; the model's counts where all layers have it."""
    text = scope.text
    if scope.cls == "VoyageQwen3BidirectionalEmbedModel":
        text = text.having(is_causal=False)
    if scope.cls not in WITH_EXPERTS:
        _check_windows(text)
    size = text.shared_out() if scope.cls in SHARED_OUT else text.head_dim
    return scope.decoder(head_size=size, may_look_both_ways=True)


def _check_windows(text: Fields) -> None:
    """Raises DocumentError for windows on some of the layers, at which the engine stops."""
    kinds = text.layer_types()
    if kinds and len(set(kinds)) > 1 and text.maybe_count("max_window_layers", least=0) != text.layers:
        text.refuse("max_window_layers", "the engine supports a sliding window on all layers or on none")
