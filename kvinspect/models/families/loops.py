"""IQuest-Coder's loops: every layer runs several times, with a cache for each run."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("IQuestLoopCoderForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """Runs after the first see a window only; a run counts on in the names."""
    text = scope.text
    runs, window = text.repeats("loop_num", 2), text.tokens("loop_window_size", 64)
    for i in range(text.layers):
        for run in range(runs):
            yield Attention(
                scope.named(f"model.layers.{run * text.layers + i}.self_attn.attn"),
                i,
                text.heads,
                text.kv_heads,
                text.shared_out(),
                sliding_window=window if run else None,
            )
