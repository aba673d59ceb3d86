"""Multi-head latent attention as DeepSeek V2 has it, with V3.2's indexer where there is one."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.models.fields import Fields
from kvinspect.models.layers import Attention, Given, Latent, Layer
from kvinspect.models.scope import Scope

EITHER_WAY = (
    "DeepseekForCausalLM", "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "DeepseekV32ForCausalLM",
    "GlmMoeDsaForCausalLM", "MistralLarge3ForCausalLM", "AXK1ForCausalLM", "Glm4MoeLiteForCausalLM",
    "HYV4ForCausalLM",
)  # fmt: skip
"""Classes that take MLA where the model type says so, else plain attention over heads made of the latent vector."""

MAY_BE_SPARSE = frozenset({*EITHER_WAY, "DeepSeekMTP", "DeepseekV32MTP"} - {"AXK1ForCausalLM"})
"""Classes that take `index_topk` for an indexer."""

ARCHITECTURES = (*EITHER_WAY, "SarvamMLAForCausalLM")

INDEX_BLOCK = 128
"""Elements of an indexer's key that share a scale of four bytes."""


def layers(scope: Scope) -> Iterator[Layer]:
    """One attention a layer, an indexer's keys before it."""
    for i in range(scope.text.layers):
        yield from attention(scope, f"model.layers.{i}.self_attn", i)


def attention(scope: Scope, prefix: str, number: int) -> Iterator[Layer]:
    """The attention of a layer: of heads, or latent with its indexer."""
    text = scope.text
    if scope.cls in EITHER_WAY and _of_heads(text):
        name = scope.named(f"{prefix}.attn")
        yield Attention(name, number, text.heads, text.kv_heads, text.shared_out())
    elif scope.cls in EITHER_WAY and not scope.setting.shape.is_mla:
        yield expanded(scope, f"{prefix}.attn", number)
    else:
        yield from latent(scope, prefix, number)


def _of_heads(text: Fields) -> bool:
    """Whether the configuration has no latent vector at all."""
    sizes = (text.count(name, 0, least=0) for name in ("qk_nope_head_dim", "qk_rope_head_dim"))
    return text.model_type == "deepseek" or not any(sizes)


def expanded(scope: Scope, name: str, number: int) -> Attention:
    """Attention without grouped queries, each made of the latent vector again."""
    text = scope.text
    size = text.count("qk_nope_head_dim", 0, least=0) + text.count("qk_rope_head_dim", 0, least=0)
    return Attention(scope.named(name), number, text.heads, text.heads, size)


def latent(scope: Scope, prefix: str, number: int, name: str = ".attn") -> Iterator[Layer]:
    """Latent attention, over the tokens that an indexer picks where the configuration has `index_topk`."""
    text = scope.text
    sparse = "index_topk" in text and scope.cls in MAY_BE_SPARSE and _may_pick(scope, number)
    picks = sparse and has_indexer(text, number)
    if picks:
        yield index_keys(scope, f"{prefix}.indexer.k_cache", number)
    yield Latent(
        scope.named(f"{prefix}{name}"),
        number,
        text.heads,
        text.count("kv_lora_rank") + text.count("qk_rope_head_dim"),
        sparse=sparse,
        facts={
            "qk_nope_head_dim": text.count("qk_nope_head_dim"),
            "index_topk": text.count("index_topk") if sparse or scope.cls == "HYV4ForCausalLM" else None,
        },
        picks=picks,
    )


def _may_pick(scope: Scope, layer: int) -> bool:
    """Whether a layer is sparse; HY V4 says it of each. Raises DocumentError where HY V4 has such a layer."""
    if scope.cls != "HYV4ForCausalLM":
        return True
    kinds = scope.text.words("layer_types")
    if layer < len(kinds) and kinds[layer] in SPARSE_KINDS:
        text = "kvinspect does not know the caches of HY V4's sparse attention"
        scope.text.refuse("layer_types", text, kind="unknown-architecture")
    return False


SPARSE_KINDS = ("sparse_attention", "sparse", "indexed_attention", "deepseek_sparse_attention")


def has_indexer(text: Fields, layer: int) -> bool:
    """Whether a layer picks tokens itself, or takes those that a layer before it picked. Draft layers always do."""
    if layer >= text.layers:
        return True
    if "index_topk_pattern" not in text:
        behind = max(layer - text.count("index_skip_topk_offset", 2, least=0) + 1, 0)
        return behind % text.count("index_topk_freq", 1) == 0
    pattern = text.letters("index_topk_pattern")
    return layer >= len(pattern) or pattern[layer] != "S"


def index_keys(scope: Scope, name: str, number: int) -> Given:
    """An indexer's keys: a byte an element, and a scale for every 128 of them."""
    size = scope.text.count("index_head_dim")
    fields = {"head_size": size + size // INDEX_BLOCK * 4, "dtype": "uint8", "cache_role": "indexer"}
    return Given(scope.named(name), number, "DEEPSEEK_V32_INDEXER", "mla_attention", fields)
