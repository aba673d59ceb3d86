"""Decoders beside an encoder: every layer attends to what was said so far and, across, to what the encoder made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kvinspect.models.fields import Fields
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope


class Decoder(NamedTuple):
    """Where the decoder's layers stand, and the names of the two attentions."""

    stack: str
    own: str = "self_attn.attn"
    across: str = "encoder_attn.attn"
    part: str | None = None
    """The nested configuration that describes the decoder."""
    size: str = "d_model"
    heads: str = "decoder_attention_heads"
    layers: str = "decoder_layers"
    defaults: Mapping[str, int] = {}


ARCHITECTURES: Mapping[str, Decoder] = {
    "WhisperForConditionalGeneration": Decoder(".decoder.layers.{}.layers"),
    "NemotronParseForConditionalGeneration": Decoder(".decoder.layers.{}", part="decoder"),
    "CohereAsrForConditionalGeneration": Decoder(
        "decoder.layers.{}.layers",
        "first_sub_layer.attn",
        "second_sub_layer.attn",
        "transf_decoder",
        "hidden_size",
        "num_attention_heads",
        "num_layers",
    ),
    "FireRedLIDForConditionalGeneration": Decoder(
        "model.decoder.layer_stack.{}",
        across="cross_attn.attn",
        heads="n_head",
        layers="n_layers_lid_dec",
        defaults={"d_model": 1280, "n_head": 20, "n_layers_lid_dec": 6},
    ),
}


def layers(scope: Scope) -> Iterator[Layer]:
    """Two attentions a layer, without grouped queries. A dot leads where vLLM's prefix is empty."""
    way = ARCHITECTURES[scope.cls]
    fields = _described(scope.config, way)
    heads = fields.count(way.heads, way.defaults.get(way.heads))
    width = fields.count(way.size, way.defaults.get(way.size))
    if width < heads:
        fields.fail(way.heads, f"at most {way.size} ({width}) heads", heads)
    for i in range(fields.repeats(way.layers, way.defaults.get(way.layers))):
        stack = f"{scope.at}{way.stack}" if way.stack.startswith(".") else scope.named(way.stack)
        prefix = stack.format(i)
        yield Attention(f"{prefix}.{way.own}", i, heads, heads, width // heads)
        yield Attention(f"{prefix}.{way.across}", i, heads, heads, width // heads, attn_type="encoder_decoder")


def _described(config: Fields, way: Decoder) -> Fields:
    """The configuration of the decoder."""
    if way.part is None:
        return config
    part = config.part(way.part)
    if part is None:
        config.fail(way.part, "the configuration of the decoder", None)
    return part.part("config_dict") or part
