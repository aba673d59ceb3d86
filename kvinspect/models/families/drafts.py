"""Draft models that ship with their target (MTP): layers after the model's last, or under a name of their own."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families import deepseek_v4, kimi_linear, latent, mimo_v2, nemotron_h
from kvinspect.models.families.heads_apart import exaone_moe_window, step3p5_layer
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope, by_layer_type

BEHIND = ("Glm4MoeMTP", "ErnieMTP", "HYV3MTP", "MiMoMTP", "GlmOcrMTP")
LATENT = (
    "DeepSeekMTP", "DeepseekV32MTP", "Glm4MoeLiteMTP", "OpenPanguMTP", "BailingMoeV25MTPModel", "BailingMoeV3MTPModel",
    "LongCatFlashMTP",
)  # fmt: skip
APART = ("Qwen3NextMTP", "Qwen3_5MTP", "Qwen3_5MoeMTP", "ExaoneMoeMTP", "Exaone4_5_MTP")
ARCHITECTURES = (
    *BEHIND, *LATENT, *APART, "DeepSeekV4MTP", "KimiK3MTP", "NemotronHMTP", "MiMoV2MTP", "Step3p5MTP",
)  # fmt: skip

COUNTS = {"Qwen3_5MTP": "mtp_num_hidden_layers", "Qwen3_5MoeMTP": "mtp_num_hidden_layers"}
"""Where the number of draft layers stands, `num_nextn_predict_layers` elsewhere."""


ONE = ("LongCatFlashMTP", "MiMoV2MTP")
"""Classes that draft with their first layer alone."""


def layers(scope: Scope) -> Iterator[Layer]:
    """The draft layers. Their numbers lie behind the model's, so that the last pipeline stage has them."""
    if scope.cls == "NemotronHMTP":
        yield from _letters(scope)
        return
    count = scope.text.repeats(COUNTS.get(scope.cls, "num_nextn_predict_layers"), 1)
    for i in range(1 if scope.cls in ONE else count):
        yield from _layer(scope, i)


def _layer(scope: Scope, index: int) -> Iterator[Layer]:
    text, number = scope.text, scope.text.layers + index
    if scope.cls == "DeepSeekV4MTP":
        yield from deepseek_v4.attention(scope, f"model.layers.{number}.attn", number)
    elif scope.cls == "KimiK3MTP":
        yield kimi_linear.latent_layer(scope, f"model.layers.{number}.self_attn", number)
    elif scope.cls == "MiMoV2MTP":
        yield mimo_v2.layer(scope, f"model.mtp.layers.{index}.self_attn.attn", number, sliding=True)
    elif scope.cls == "Step3p5MTP":
        yield step3p5_layer(scope, number, f"model.layers.{number}.mtp_block.self_attn.attn")
    elif scope.cls in LATENT:
        yield from latent.latent(scope, f"model.layers.{_counted(scope, index)}.self_attn", number)
    else:
        name, window = scope.named(_heads_name(scope, index)), _window(scope, index)
        yield Attention(name, number, text.heads, text.kv_heads, text.head_dim, sliding_window=window)


def _counted(scope: Scope, index: int) -> int:
    """The number in a draft layer's name."""
    return index + scope.text.layers * (2 if scope.cls == "LongCatFlashMTP" else 1)


def _window(scope: Scope, index: int) -> int | None:
    if scope.cls == "ExaoneMoeMTP":
        return exaone_moe_window(scope, index, scope.rules.exaone_moe_draft)
    return by_layer_type(scope.text, index) if scope.cls == "Exaone4_5_MTP" else None


def _heads_name(scope: Scope, index: int) -> str:
    if scope.cls in APART:
        return f"mtp.layers.{index}.self_attn.attn"
    return f"model.layers.{_counted(scope, index)}.self_attn.attn"


def _letters(scope: Scope) -> Iterator[Layer]:
    """Nemotron's draft has a pattern of its own, once for each token that it was trained to draft."""
    text = scope.text
    letters = text.word("mtp_hybrid_override_pattern")
    for i in range(len(letters) * text.repeats("num_nextn_predict_layers", 1)):
        if letters[i % len(letters)] == "*":
            yield nemotron_h.attention(scope, f"mtp.layers.{i}.mixer.attn", text.layers + i)
