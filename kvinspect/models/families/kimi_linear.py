"""Kimi-Linear and Kimi-K3: Kimi Delta Attention, with latent attention every few layers."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import latent
from kvinspect.models.here import Here
from kvinspect.models.layers import Layer
from kvinspect.models.states import States

ARCHITECTURES = ("KimiLinearForCausalLM", "KimiK3ForConditionalGeneration")

FLASH_KDA = 16
"""Tokens that the states which FlashKDA leaves on its way are aligned to."""


def layers(here: Here) -> Iterator[Layer]:
    """`linear_attn_config` lists the layers of either kind, counted from one."""
    text, states = here.text, States(here)
    stack = "language_model.model.layers" if here.cls == "KimiK3ForConditionalGeneration" else "model.layers"
    linear = text.mapping("linear_attn_config")
    kinds = set(linear.counts("kda_layers"))
    for i in range(text.layers):
        prefix = f"{stack}.{i}.self_attn"
        if i + 1 not in kinds:
            yield latent_layer(here, prefix, i)
            continue
        heads, size = linear.count("num_heads"), linear.count("head_dim")
        kernel = linear.count("short_conv_kernel_size", least=2)
        backend = "KIMI_K3_KDA" if linear.flag("use_full_rank_gate") else None
        layer = states.kimi_delta(prefix, i, heads, size, kernel, backend)
        bounded = backend is not None and "gate_lower_bound" in linear
        yield layer._replace(own_checkpoint=FLASH_KDA if bounded and _flash_kda(here, size) else None)


def _flash_kda(here: Here, head_dim: int) -> bool:
    """Whether FlashKDA's kernel does the prefill of a layer whose gate has a lower bound, and leaves states."""
    setting = here.setting
    major = (setting.capability or "").partition(".")[0]
    fits = head_dim == 128 and setting.dtype == "bfloat16" and major in ("9", "10", "12")
    return here.rules.flash_kda_leaves_states and setting.platform == "cuda" and fits


def latent_layer(here: Here, prefix: str, number: int) -> Layer:
    """A layer of latent attention, the draft's too."""
    return next(latent(here, prefix, number, here.rules.kimi_latent))
