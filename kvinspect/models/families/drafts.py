"""Draft models that ship with their target (MTP): layers after the model's last, or under a name of their own."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families import deepseek_v4, kimi_linear, latent, mimo_v2, nemotron_h
from kvinspect.models.families.heads_apart import exaone_moe_window, step3p5_layer
from kvinspect.models.here import Here, by_layer_type
from kvinspect.models.layers import Attention, Layer

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


def layers(here: Here) -> Iterator[Layer]:
    """The draft layers. Their numbers lie behind the model's, so that the last pipeline stage has them."""
    if here.cls == "NemotronHMTP":
        yield from _letters(here)
        return
    count = here.text.repeats(COUNTS.get(here.cls, "num_nextn_predict_layers"), 1)
    for i in range(1 if here.cls in ONE else count):
        yield from _layer(here, i)


def _layer(here: Here, index: int) -> Iterator[Layer]:
    text, number = here.text, here.text.layers + index
    if here.cls == "DeepSeekV4MTP":
        yield from deepseek_v4.attention(here, f"model.layers.{number}.attn", number)
    elif here.cls == "KimiK3MTP":
        yield kimi_linear.latent_layer(here, f"model.layers.{number}.self_attn", number)
    elif here.cls == "MiMoV2MTP":
        yield mimo_v2.layer(here, f"model.mtp.layers.{index}.self_attn.attn", number, sliding=True)
    elif here.cls == "Step3p5MTP":
        yield step3p5_layer(here, number, f"model.layers.{number}.mtp_block.self_attn.attn")
    elif here.cls in LATENT:
        yield from latent.latent(here, f"model.layers.{_counted(here, index)}.self_attn", number)
    else:
        name, window = here.named(_heads_name(here, index)), _window(here, index)
        yield Attention(name, number, text.heads, text.kv_heads, text.head_dim, sliding_window=window)


def _counted(here: Here, index: int) -> int:
    """The number in a draft layer's name."""
    return index + here.text.layers * (2 if here.cls == "LongCatFlashMTP" else 1)


def _window(here: Here, index: int) -> int | None:
    if here.cls == "ExaoneMoeMTP":
        return exaone_moe_window(here, index, here.rules.exaone_moe_draft)
    return by_layer_type(here.text, index) if here.cls == "Exaone4_5_MTP" else None


def _heads_name(here: Here, index: int) -> str:
    if here.cls in APART:
        return f"mtp.layers.{index}.self_attn.attn"
    return f"model.layers.{_counted(here, index)}.self_attn.attn"


def _letters(here: Here) -> Iterator[Layer]:
    """Nemotron's draft has a pattern of its own, once for each token that it was trained to draft."""
    text = here.text
    letters = text.word("mtp_hybrid_override_pattern")
    for i in range(len(letters) * text.repeats("num_nextn_predict_layers", 1)):
        if letters[i % len(letters)] == "*":
            yield nemotron_h.attention(here, f"mtp.layers.{i}.mixer.attn", text.layers + i)
