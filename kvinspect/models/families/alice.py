"""Alice AI: Kimi Delta Attention by `layer_types`, with full attention between."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import States

ARCHITECTURES = ("AliceAIForCausalLM",)


def layers(scope: Scope) -> Iterator[Layer]:
    """The sizes of a delta net stand under Qwen's names; keys and values have as many heads of one size."""
    text, states = scope.text, States(scope)
    for i, kind in enumerate(text.layer_types() or ()):
        if kind == "full_attention":
            name = scope.named(f"model.layers.{i}.self_attn.attn")
            yield Attention(name, i, text.heads, text.kv_heads, text.head_dim)
        elif kind == "linear_attention":
            heads, size = _alike(scope, "heads", "num_key_heads"), _alike(scope, "dim", "key_head_dim")
            kernel = text.count("linear_conv_kernel_dim", least=2)
            yield states.kimi_delta(f"model.layers.{i}.linear_attn", i, heads, size, kernel, None)
        else:
            text.fail("layer_types", "linear_attention or full_attention for each layer", kind)


def _alike(scope: Scope, what: str, key: str) -> int:
    """A size of keys that values have to share. Raises DocumentError where they do not."""
    text, values = scope.text, f"linear_{key.replace('key', 'value')}"
    found = text.count(f"linear_{key}")
    if text.count(values) != found:
        text.refuse(values, f"the engine takes as many {what} of values as of keys in this model's delta nets")
    return found
