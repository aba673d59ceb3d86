"""Kimi-Linear and Kimi-K3: Kimi Delta Attention, with latent attention every few layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kvinspect.models.config import Fields
from kvinspect.models.families.latent import latent
from kvinspect.models.here import Here
from kvinspect.models.layers import Layer
from kvinspect.models.states import States

ARCHITECTURES = ("KimiLinearForCausalLM", "KimiK3ForConditionalGeneration")


def layers(here: Here) -> Iterator[Layer]:
    """`linear_attn_config` lists the layers of either kind, counted from one."""
    text, states = here.text, States(here)
    stack = "language_model.model.layers" if here.cls == "KimiK3ForConditionalGeneration" else "model.layers"
    linear = _linear(text)
    for i in range(text.layers):
        prefix = f"{stack}.{i}.self_attn"
        if i + 1 not in linear.get("kda_layers", ()):
            yield latent_layer(here, prefix, i)
            continue
        heads, size, kernel = (_count(text, linear, key) for key in ("num_heads", "head_dim", "short_conv_kernel_size"))
        backend = "KIMI_K3_KDA" if linear.get("use_full_rank_gate") else None
        yield states.kimi_delta(prefix, i, heads, size, kernel, backend)


def latent_layer(here: Here, prefix: str, number: int) -> Layer:
    """A layer of latent attention, the draft's too."""
    return next(latent(here, prefix, number, here.rules.kimi_latent))


def _linear(text: Fields) -> Mapping[str, Any]:
    found = text.get("linear_attn_config", {})
    if not isinstance(found, Mapping):
        text.fail("linear_attn_config", "a mapping", found)
    layers = found.get("kda_layers", ())
    if not isinstance(layers, (list, tuple)):
        text.fail("linear_attn_config", "kda_layers to be a list of layers", layers)
    return found


def _count(text: Fields, linear: Mapping[str, Any], key: str) -> int:
    value = linear.get(key)
    if type(value) is not int or not 0 < value < 1 << 31:
        text.fail("linear_attn_config", f"{key} to be a whole number from 1 on", value)
    return value
