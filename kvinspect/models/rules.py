"""What releases do differently when they make specs; which release does what is told in `releases.py`."""

from __future__ import annotations

from typing import NamedTuple


class Rules(NamedTuple):
    """`latent_alignment` in tokens: what blocks of a hybrid with MLA are made a multiple of."""

    latent_alignment: int = 128
    window_knows_packing: bool = True
    """Whether the page of a window layer is weighed with its quantisation mode."""
    kimi_latent: str = ""
    """What follows a layer's name in Kimi-Linear's latent attention."""
