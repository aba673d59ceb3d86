"""gpt-oss: every other layer has a window, all have attention sinks."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.fields import Fields
from kvinspect.models.layers import Layer
from kvinspect.models.resolve import window_of
from kvinspect.models.scope import Scope

ARCHITECTURES = ("GptOssForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """Odd and even tell the layers, not `layer_types`; KV heads are not repeated on more ranks."""
    for layer in scope.decoder(attention="attn.attn", window=_even, has_sink=True):
        yield layer._replace(repeats_kv_heads=False)


def _even(text: Fields, index: int) -> int | None:
    return window_of(text) if index % 2 == 0 else None
