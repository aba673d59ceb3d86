"""What releases do differently when they decide on CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvinspect.cudagraph import capture
from kvinspect.cudagraph.start_up import StartUpRule


class GraphRules(NamedTuple):
    """The steps from a requested mode to the graphs that are captured, of one release and model runner."""

    encoder_groups_narrow: bool
    """Whether encoder layers outside the KV cache count when CUDA graph support is narrowed."""
    capture_limit: Callable[[str | None], int]
    """Tokens of the largest batch that is captured by default, by compute capability."""
    decode_sizes: capture.DecodeSizes
    """Sizes of decodes that are captured beside the others."""
    start_up: tuple[StartUpRule, ...]
    """What the configuration does to the requested CUDA graph mode, in order."""
    captured: Callable[..., capture.Captured] = capture.captured
    """The graphs of a mode, at capture sizes and with the bounds of a batch."""
