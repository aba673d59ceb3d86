"""Jamba: Mamba 1 with attention every few layers."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import States

ARCHITECTURES = ("JambaForCausalLM", "JambaForSequenceClassification")


def layers(scope: Scope) -> Iterator[Layer]:
    """`attn_layer_period` and `attn_layer_offset` say which layers attend."""
    text, states = scope.text, States(scope)
    period, offset = text.count("attn_layer_period"), text.count("attn_layer_offset", least=0)
    inner = text.count("mamba_expand") * text.hidden_size
    for i in range(text.layers):
        if i % period == offset:
            yield Attention(scope.named(f"model.layers.{i}.attn"), i, text.heads, text.kv_heads, text.shared_out())
        else:
            name = f"model.layers.{i}.mixer"
            yield states.mamba1(name, i, inner, text.count("mamba_d_state"), text.count("mamba_d_conv", least=2))
