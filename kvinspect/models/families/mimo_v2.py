"""MiMo V2: layers with a window have heads of their own, and values may be smaller than keys."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope

ARCHITECTURES = ("MiMoV2FlashForCausalLM", "MiMoV2ForCausalLM")


def layers(scope: Scope) -> Iterator[Layer]:
    """`hybrid_layer_pattern` has a 1 for each layer with a window."""
    text = scope.text
    pattern = text.counts("hybrid_layer_pattern", text.layers)
    for i in range(text.layers):
        yield layer(scope, f"model.layers.{i}.self_attn.attn", i, sliding=bool(pattern) and pattern[i] == 1)


def layer(scope: Scope, name: str, number: int, *, sliding: bool) -> Attention:
    """A layer of the model or of its draft."""
    text = scope.text
    before = "swa_" if sliding else ""
    size = text.count(f"{before}head_dim", text.head_dim)
    value = text.count(f"{before}v_head_dim", size)
    return Attention(
        scope.named(name),
        number,
        text.count(f"{before}num_attention_heads", text.heads),
        text.count(f"{before}num_key_value_heads", text.kv_heads),
        size,
        head_size_v=value,
        sliding_window=text.first_count("sliding_window_size", "sliding_window") if sliding else None,
        has_sink=sliding and text.flag("add_swa_attention_sink_bias"),
        backend=None if value == size else _two_sizes(scope, size),
    )


def _two_sizes(scope: Scope, size: int) -> str:
    """The backend for values of another size than keys: FlashAttention 3 or 4, else Triton."""
    version = scope.setting.flash_attention.version(size)
    known, wanted = scope.setting.model_backends("two_head_sizes", version), scope.setting.attention_backend
    return wanted if wanted is not None and wanted in known else known[0]
