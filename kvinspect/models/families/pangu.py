"""openPangu: latent attention, attention with static sinks, or plain attention, told by the fields that are there."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families.latent import latent
from kvinspect.models.fields import Fields
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("PanguEmbeddedForCausalLM", "PanguUltraMoEForCausalLM", "PanguProMoEV2ForCausalLM")

LATENT_FIELDS = ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "kv_lora_rank")


def layers(scope: Scope) -> Iterator[Layer]:
    """One attention a layer; sinks are tokens that stand before every context."""
    text = scope.text
    for i in range(text.layers):
        prefix = f"model.layers.{i}.self_attn"
        if all(name in text for name in LATENT_FIELDS):
            yield from latent(scope, prefix, i)
        else:
            yield _heads(scope, f"{prefix}.attn", i)


def _heads(scope: Scope, name: str, index: int) -> Attention:
    text = scope.text
    plain = Attention(
        scope.named(name), index, text.heads, text.kv_heads, text.head_dim, sliding_window=_window(text, index)
    )
    sinks = text.count("param_sink_number", 0, least=0)
    if not sinks:
        return plain._replace(attn_type="decoder" if text.flag("is_causal", True) else "encoder_only")
    size = text.count("qk_rope_dim") + text.count("qk_nope_dim")
    return plain._replace(
        head_size=size,
        head_size_v=text.count("v_channels"),
        backend=scope.setting.model_backends("sinks")[0],
        kind="sink_full_attention",
        fields={"sink_len": sinks},
    )


def _window(text: Fields, index: int) -> int | None:
    """One window for all layers, or several in turn."""
    windows = text.turns("interleaved_sliding_window")
    return windows[index % len(windows)] if windows else None
