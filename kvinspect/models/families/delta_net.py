"""Qwen 3-Next and 3.5 and OLMo Hybrid: gated delta nets, with full attention every few layers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvinspect.models.causality import declared_causal
from kvinspect.models.layers import Attention, Layer
from kvinspect.models.scope import Scope
from kvinspect.models.states import Delta, States

TEXT = (
    "Qwen4ExpForCausalLM",
    "Qwen3NextForCausalLM",
    "Qwen3_5ForCausalLM",
    "Qwen3_5MoeForCausalLM",
    "OlmoHybridForCausalLM",
)
SEEING = (
    "Qwen3_5ForConditionalGeneration", "Qwen3_5MoeForConditionalGeneration", "InternS2PreviewForConditionalGeneration",
    "MiniCPMV4_6ForConditionalGeneration", "MiniCPMV4_7ForConditionalGeneration", "MiniCPMOcrForConditionalGeneration",
    "ColQwen3_5Model", "Qwen4ExpForConditionalGeneration", "InternS2MobiusForConditionalGeneration",
    "ClefFlashForJointSchema", "D3ForSequenceClassification",
)  # fmt: skip
QWEN4 = ("Qwen4ExpForCausalLM", "Qwen4ExpForConditionalGeneration")
ARCHITECTURES = (*TEXT, *SEEING)


def layers(scope: Scope) -> Iterator[Layer]:
    """`layer_types` has `linear_attention` and `full_attention`."""
    text, states = scope.text, States(scope)
    stack = "language_model.model.layers" if scope.cls in SEEING else "model.layers"
    size = text.shared_out() if scope.cls == "OlmoHybridForCausalLM" else text.head_dim
    if "indexer_n_heads" in text and scope.cls in QWEN4:
        said = "kvinspect does not know the caches of this model's sparse attention"
        text.refuse("indexer_n_heads", said, kind="unknown-architecture")
    kinds, may = _kinds(scope), scope.cls != "OlmoHybridForCausalLM"
    attn_type = "decoder" if _is_causal(scope) else "encoder_only"
    for i, kind in enumerate(kinds[: text.layers]):
        if kind == "linear_attention":
            yield states.delta(f"{stack}.{i}.linear_attn", i, _sizes(scope), may_checkpoint=may)
        elif kind == "full_attention":
            name = scope.named(f"{stack}.{i}.self_attn.attn")
            yield Attention(name, i, text.heads, text.kv_heads, size, attn_type=attn_type)
        else:
            text.fail("layer_types", "linear_attention or full_attention for each layer", kind)


def _is_causal(scope: Scope) -> bool:
    """Whether full attention looks one way; OLMo Hybrid's always does."""
    registered = scope.setting.architecture.registered
    declared = declared_causal(scope.config, registered, scope.rules.colqwen_declares)
    reaches_text = scope.rules.colqwen_declares or scope.text is scope.config
    if declared is not None and reaches_text:
        return declared
    return scope.cls == "OlmoHybridForCausalLM" or scope.text.flag("is_causal", True)


def _kinds(scope: Scope) -> Sequence[str]:
    """The kind of each layer."""
    text = scope.text
    period = text.maybe_count("full_attention_interval") if scope.rules.intervals_of_qwen3_next else None
    if scope.cls != "Qwen3NextForCausalLM" or period is None or "layer_types" in text.by_type:
        return text.layer_types() or ()
    return ["linear_attention" if (i + 1) % period else "full_attention" for i in range(text.layers)]


def _sizes(scope: Scope) -> Delta:
    text = scope.text
    return Delta(
        key_heads=text.count("linear_num_key_heads"),
        value_heads=text.count("linear_num_value_heads"),
        key_dim=text.count("linear_key_head_dim"),
        value_dim=text.count("linear_value_head_dim"),
        kernel=text.count("linear_conv_kernel_dim", least=2),
    )
