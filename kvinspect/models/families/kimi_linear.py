"""Kimi-Linear and Kimi-K3: Kimi Delta Attention, with latent attention every few layers."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import latent
from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import States

ARCHITECTURES = ("KimiLinearForCausalLM", "KimiK3ForConditionalGeneration")

FLASH_KDA = 16
"""Tokens that the states which FlashKDA leaves on its way are aligned to."""


def layers(scope: Scope) -> Iterator[Layer]:
    """`linear_attn_config` lists the layers of either kind, counted from one."""
    text, states = scope.text, States(scope)
    stack = "language_model.model.layers" if scope.cls == "KimiK3ForConditionalGeneration" else "model.layers"
    linear = text.mapping("linear_attn_config")
    kinds = set(linear.counts("kda_layers"))
    for i in range(text.layers):
        prefix = f"{stack}.{i}.self_attn"
        if i + 1 not in kinds:
            yield latent_layer(scope, prefix, i)
            continue
        heads, size = linear.count("num_heads"), linear.count("head_dim")
        kernel = linear.count("short_conv_kernel_size", least=2)
        backend = "KIMI_K3_KDA" if linear.flag("use_full_rank_gate") else None
        layer = states.kimi_delta(prefix, i, heads, size, kernel, backend)
        bounded = backend is not None and "gate_lower_bound" in linear
        yield layer._replace(checkpoint_alignment=FLASH_KDA if bounded and _flash_kda(scope, size) else None)


def _flash_kda(scope: Scope, head_dim: int) -> bool:
    """Whether FlashKDA's kernel does the prefill of a layer whose gate has a lower bound, and leaves states."""
    setting = scope.setting
    major = (setting.capability or "").partition(".")[0]
    fits = head_dim == 128 and setting.dtype == "bfloat16" and major in ("9", "10", "12")
    return scope.rules.flash_kda_leaves_states and setting.platform == "cuda" and fits


def latent_layer(scope: Scope, prefix: str, number: int) -> Layer:
    """A layer of latent attention, the draft's too."""
    if not scope.rules.kimi_latent and not scope.text.flag("mla_use_nope"):
        scope.text.refuse("mla_use_nope", "the engine's latent attention of Kimi takes no rotary position embedding")
    return next(latent(scope, prefix, number, scope.rules.kimi_latent))
