"""Inkling: short convolutions whose inputs lie in a window's cache of their own, beside attention in two widths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.document.numbers import counted
from kvinspect.models.layers import Given, Layer
from kvinspect.models.parallel import Uneven, heads
from kvinspect.models.resolve import stopped, torch_dtype
from kvinspect.models.scope import Scope

ARCHITECTURES = ("InklingForCausalLM", "InklingForConditionalGeneration")


class _Heads(NamedTuple):
    """Heads of a layer in the whole model."""

    query: int
    kv: int
    size: int


def layers(scope: Scope) -> Iterator[Layer]:
    """A convolution's state and an attention a layer; those of `local_layer_ids` have other heads and a window."""
    text = scope.text
    if scope.setting.dtype != "bfloat16":
        raise stopped("dtype", "Inkling keeps the inputs of its convolutions in bfloat16 only")
    local = set(text.counts("local_layer_ids"))
    for i in range(text.layers):
        of = _heads(scope, local=i in local)
        yield _conv_state(scope, i, of)
        yield _attention(scope, i, of, text.tokens("sliding_window_size", 512) if i in local else None)


def _heads(scope: Scope, local: bool) -> _Heads:
    text = scope.text
    size = text.maybe_count("head_dim") or text.shared_out()
    if not local:
        return _Heads(text.heads, text.kv_heads, size)
    return _Heads(
        text.maybe_count("swa_num_attention_heads") or text.heads,
        text.maybe_count("swa_num_key_value_heads") or text.kv_heads,
        text.maybe_count("swa_head_dim") or size,
    )


def _conv_state(scope: Scope, number: int, of: _Heads) -> Given:
    """The last inputs of four convolutions, a power of two of elements for each KV head."""
    text, ranks = scope.text, scope.setting.ranks
    if ranks > of.kv:
        most = counted(of.kv, "KV head")
        text.refuse("num_key_value_heads", f"Inkling's convolutions take no tensor_parallel_size above {most}")
    kernel = text.first_count("sconv_kernel_size", "conv_kernel_size") or 4
    elements = 2 * of.size + 2 * (text.hidden_size // of.kv)
    fields = {
        "block_size": kernel,
        "sliding_window": kernel,
        "num_kv_heads": of.kv // ranks,
        "head_size": 1 << (elements - 1).bit_length(),
        "head_size_v": 0,
        "dtype": "bfloat16",
    }
    name = scope.named(f"model.layers.{number}.conv_state")
    return Given(name, number, "INKLING_SCONV_SWA", "sliding_window", fields)


def _attention(scope: Scope, number: int, of: _Heads, window: int | None) -> Given:
    """Always FlashAttention's, in blocks as long as the model's whatever the window."""
    setting = scope.setting
    try:
        kv = heads(of.query, of.kv, setting.ranks).kv
    except Uneven as uneven:
        scope.text.refuse("num_key_value_heads", str(uneven))
    kind = "full_attention" if window is None else "sliding_window"
    fields = {
        "num_kv_heads": kv,
        "head_size": of.size,
        "dtype": torch_dtype(setting.cache_dtype, setting.dtype),
        "sliding_window": window,
    }
    (backend,) = setting.model_backends("inkling")
    return Given(scope.named(f"model.layers.{number}.attn"), number, backend, kind, fields)
