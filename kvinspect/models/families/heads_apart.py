"""Decoders whose heads stand under names of their own, or differ from layer to layer."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.fields import Fields
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.resolve import window_of
from kvinspect.models.scope import Scope, by_layer_type

ARCHITECTURES = (
    "HunYuanDenseV1ForCausalLM", "HunYuanMoEV1ForCausalLM", "Step1ForCausalLM",
    "Step3TextForCausalLM", "DeciLMForCausalLM", "LagunaForCausalLM", "ExaoneMoeForCausalLM", "Step3p5ForCausalLM",
    "DomynEdgeForCausalLM", "Cosmos3EdgeForConditionalGeneration",
)  # fmt: skip


def layers(scope: Scope) -> Iterator[Layer]:
    """One attention a layer, its heads told by the rule of the class."""
    return _RULES[scope.cls](scope)


def _hunyuan(scope: Scope) -> Iterator[Layer]:
    """`attention_head_dim` where there is no `head_dim`."""
    text = scope.text
    size = text.maybe_count("head_dim", least=0) or text.maybe_count("attention_head_dim") or text.shared_out()
    return scope.decoder(head_size=size)


def _step1(scope: Scope) -> Iterator[Layer]:
    text = scope.text
    kv = text.first_count("num_attention_groups", "num_key_value_heads", least=0) or 1
    return scope.decoder(head_size=text.shared_out(), num_kv_heads=kv)


def _step3(scope: Scope) -> Iterator[Layer]:
    """One KV head for all."""
    return scope.decoder(scope.bare("layers"), head_size=scope.text.head_dim, num_kv_heads=1)


def _deci(scope: Scope) -> Iterator[Layer]:
    """Each block says how many heads share a KV head, and some blocks have no attention."""
    text = scope.text
    blocks = text.mappings("block_configs", text.layers)
    if not blocks:
        text.fail("block_configs", "an attention for each layer", None)
    for i in range(text.layers):
        attention = blocks[i].mapping("attention")
        if attention.flag("no_op") or attention.flag("replace_with_linear"):
            continue
        yield Attention(
            scope.named(f"model.layers.{i}.self_attn.attn"),
            i,
            text.heads,
            _shared(text.heads, attention),
            text.head_dim,
        )


def _shared(heads: int, attention: Fields) -> int:
    """KV heads of so many heads, as many of which share one as a block says."""
    group = attention.count("n_heads_in_group")
    if group > heads:
        attention.fail("n_heads_in_group", f"at most num_attention_heads ({heads})", group)
    return heads // group


def _laguna(scope: Scope) -> Iterator[Layer]:
    """Query heads may be told layer by layer; layers with windows may have sinks."""
    text = scope.text
    counts = text.counts("num_attention_heads_per_layer", text.layers, least=1)
    for layer in scope.decoder(window=by_layer_type):
        i = layer.number or 0
        sink = layer.sliding_window is not None and text.flag("swa_attention_sink_enabled")
        query = counts[i] if counts else layer.num_heads
        yield layer._replace(num_heads=query, has_sink=sink)


def _exaone_moe(scope: Scope) -> Iterator[Layer]:
    for layer in scope.decoder():
        yield layer._replace(sliding_window=exaone_moe_window(scope, layer.number or 0))


def exaone_moe_window(scope: Scope, index: int, mtp: str = "") -> int | None:
    """The window of a K-EXAONE layer, in tokens; of a draft layer by the keys that begin with `mtp`.

    Raises DocumentError where no key tells the window of a layer that is not `full_attention`.
    """
    text, keys = scope.text, scope.rules.exaone_moe_windows
    own = mtp + "layer_types"
    kinds = text.words(own) if mtp and own in text else text.layer_types() or ()
    if not kinds or index >= len(kinds) or kinds[index] == "full_attention":
        return None
    key = next((key for key in (mtp + keys[0], *keys) if key in text), keys[0])
    windows = text.maybe_counts(key, index + 1) if text.is_list(key) or key not in text else [text.tokens(key, least=0)]
    if not windows:
        text.refuse(key, f"vLLM {scope.setting.release.version} reads the windows of this model's layers from it alone")
    return windows[index if len(windows) > index else 0] or None


def _step3p5(scope: Scope) -> Iterator[Layer]:
    for i in range(scope.text.layers):
        yield step3p5_layer(scope, i, f"model.layers.{i}.self_attn.attn")


def step3p5_layer(scope: Scope, index: int, name: str) -> Attention:
    """A layer of Step 3.5 or of its draft; one kind may have heads of its own, under `attention_other_setting`."""
    text = scope.text
    kinds = (*(text.layer_types() or ()), *text.words("mtp_layer_types"))
    kind = kinds[index] if index < len(kinds) else ""
    other = text.mapping("attention_other_setting")
    own = other if kind and other.is_word("attention_type", kind) else None
    groups = text.first_count("num_attention_groups", "num_key_value_heads") or text.heads
    sliding = kind == "sliding_attention" if kinds else index % 2 == 0
    return Attention(
        scope.named(name),
        index,
        _own(own, "num_attention_heads") or text.heads,
        _own(own, "num_attention_groups") or groups,
        _own(own, "head_dim") or text.head_dim,
        sliding_window=window_of(text) if sliding else None,
    )


def _own(part: Fields | None, key: str) -> int | None:
    return None if part is None else part.maybe_count(key, least=0)


def _domyn_edge(scope: Scope) -> Iterator[Layer]:
    """Each layer says how long its heads are and how many keys before its own it sees."""
    text = scope.text
    windows = text.lists("window_sizes", text.layers, least=-1)
    for layer in scope.decoder(attention="attention.attn"):
        i = layer.number or 0
        own = text.mapping("per_layer_config").mapping(str(i))
        behind = windows[i][0]
        yield layer._replace(
            head_size=own.maybe_count("head_dim") or layer.head_size,
            sliding_window=behind + 1 if behind > 0 else None,
        )


def _cosmos3_edge(scope: Scope) -> Iterator[Layer]:
    """Feed-forward layers count as layers of their own, between those that attend."""
    for layer in scope.decoder("language_model.model.layers", "mixer.attn"):
        i = layer.number or 0
        yield layer._replace(name=scope.named(f"language_model.model.layers.{2 * i}.mixer.attn"))


_RULES = {
    "DomynEdgeForCausalLM": _domyn_edge,
    "Cosmos3EdgeForConditionalGeneration": _cosmos3_edge,
    "HunYuanDenseV1ForCausalLM": _hunyuan,
    "HunYuanMoEV1ForCausalLM": _hunyuan,
    "Step1ForCausalLM": _step1,
    "Step3TextForCausalLM": _step3,
    "DeciLMForCausalLM": _deci,
    "LagunaForCausalLM": _laguna,
    "ExaoneMoeForCausalLM": _exaone_moe,
    "Step3p5ForCausalLM": _step3p5,
}
