"""Draft models that ship with their target (MTP): layers after the model's last, or under a name of their own."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.families import deepseek_v4, kimi_linear, latent, nemotron_h
from kvinspect.models.families.heads_apart import exaone_moe_window
from kvinspect.models.here import Here
from kvinspect.models.layers import Attention, Layer

BEHIND = ("Glm4MoeMTP", "ErnieMTP", "HYV3MTP")
MIMO = ("MiMoMTP",)
LATENT = (
    "DeepSeekMTP",
    "Glm4MoeLiteMTP",
    "OpenPanguMTP",
    "BailingMoeV25MTPModel",
    "BailingMoeV3MTPModel",
    "LongCatFlashMTP",
)
APART = ("Qwen3NextMTP", "Qwen3_5MTP", "Qwen3_5MoeMTP", "ExaoneMoeMTP")
ARCHITECTURES = (*BEHIND, *MIMO, *LATENT, *APART, "DeepSeekV4MTP", "KimiK3MTP", "NemotronHMTP")

COUNTS = {"Qwen3_5MTP": "mtp_num_hidden_layers", "Qwen3_5MoeMTP": "mtp_num_hidden_layers"}
"""Where the number of draft layers stands, `num_nextn_predict_layers` elsewhere."""


def layers(here: Here) -> Iterator[Layer]:
    """The draft layers. Their numbers lie behind the model's, so that the last pipeline stage has them."""
    if here.cls == "NemotronHMTP":
        yield from _letters(here)
        return
    count = here.text.repeats(COUNTS.get(here.cls, "num_nextn_predict_layers"), 1)
    for i in range(1 if here.cls == "LongCatFlashMTP" else count):
        yield from _layer(here, i)


def _layer(here: Here, index: int) -> Iterator[Layer]:
    text, number = here.text, here.text.layers + index
    if here.cls == "DeepSeekV4MTP":
        yield from deepseek_v4.attention(here, f"model.layers.{number}.attn", number)
    elif here.cls == "KimiK3MTP":
        yield kimi_linear.latent_layer(here, f"model.layers.{number}.self_attn", number)
    elif here.cls in LATENT:
        named = 2 * text.layers if here.cls == "LongCatFlashMTP" else number
        yield from latent.latent(here, f"model.layers.{named}.self_attn", number)
    else:
        name = _heads_name(here, index, number)
        window = exaone_moe_window(here, index, "mtp_") if here.cls == "ExaoneMoeMTP" else None
        yield Attention(here.named(name), number, text.heads, text.kv_heads, text.head_dim, sliding_window=window)


def _heads_name(here: Here, index: int, number: int) -> str:
    if here.cls in APART:
        return f"mtp.layers.{index}.self_attn.attn"
    return f"model.{'mtp_layers' if here.cls in MIMO else 'layers'}.{number}.self_attn.attn"


def _letters(here: Here) -> Iterator[Layer]:
    """Nemotron's draft has a pattern of its own, once for each token that it was trained to draft."""
    text = here.text
    letters = text.word("mtp_hybrid_override_pattern")
    for i in range(len(letters) * text.repeats("num_nextn_predict_layers", 1)):
        if letters[i % len(letters)] == "*":
            yield nemotron_h.attention(here, f"mtp.layers.{i}.mixer.attn", text.layers + i)
