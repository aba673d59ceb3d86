"""HRM-Text: two stacks that run over and over, with a cache for each run."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("HrmTextForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """Each high cycle runs the low stack `L_cycles` times and the high one once; a run counts on in the names."""
    text = scope.text
    high, low, depth = (text.repeats(name) for name in ("H_cycles", "L_cycles", "num_layers_per_stack"))
    size = text.head_dim
    for stack, runs in (("L", range(low)), ("H", range(low, low + 1))):
        for i in range(depth):
            for step in (cycle * (low + 1) + run for cycle in range(high) for run in runs):
                name = scope.named(f"model.{stack}_module.layers.{step * depth + i}.self_attn.attn")
                yield Attention(name, None, text.heads, text.heads, size, fields={"non_causal": True})
