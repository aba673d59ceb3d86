"""Decoders whose windows stand in a list that goes round: `interleaved_sliding_window`."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.fields import Fields
from kvinspect.models.layers import Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("Jais2ForCausalLM", "Plamo3ForCausalLM")


def layers(scope: Scope) -> Iterator[Layer]:
    """A number is the window of every layer, a list gives one a layer and begins again at its end."""
    attention = "mixer.attn" if scope.cls == "Plamo3ForCausalLM" else "self_attn.attn"
    return scope.decoder(attention=attention, window=_window)


def _window(text: Fields, index: int) -> int | None:
    windows = text.turns("interleaved_sliding_window")
    return (windows[index % len(windows)] or None) if windows else None
