"""The parameters of a model's modules, counted from its config.json: who has how many, and how ranks share them.

Counts follow the shapes of vLLM's model classes. Norms and biases are counted with the matrices beside them where they
are large enough to matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kvinspect.document.limits import MAX_LAYERS
from kvinspect.models.model_types import model_type

Config = Mapping[str, Any]

SHARED, WHOLE, EXPERTS = "shared", "whole", "experts"
"""How a module lies on ranks of tensor parallelism: divided, repeated, or divided among those of all experts."""


class Module(NamedTuple):
    """A module of one layer, or of the model (`layer` is None). `linear` modules are what quantization is about."""

    path: str
    size: int
    share: str = SHARED
    layer: int | None = None
    linear: bool = True
    kv: bool = False
    """Whether it makes keys or values, which are repeated on ranks beyond their heads."""


def number(config: Config, *keys: str, default: int = 0) -> int:
    """The first of some keys that holds a count."""
    for key in keys:
        value = config.get(key)
        if type(value) is int and 0 <= value < 1 << 40:
            return value
        if isinstance(value, list) and value and type(value[0]) is int:
            return max(item for item in value if type(item) is int)
    return default


TEXTS = ("text_config", "llm_config", "language_config", "thinker_config", "language_model_config")


def text_of(config: Config) -> Config:
    """The configuration of the language model in one of a larger model, with what its type leaves out."""
    outer = model_type(str(config.get("model_type", "")))
    for key in TEXTS:
        inner = config.get(key)
        if isinstance(inner, Mapping):
            kind = str(inner.get("model_type") or outer.parts.get(key, ""))
            above = {name: config[name] for name in ("tie_word_embeddings",) if name in config}
            return text_of(
                {**above, **model_type(kind).values, **outer.filled.get(key, {}), **inner, "model_type": kind}
            )
    return {**_vocabulary(str(config.get("model_type", ""))), **outer.values, **config}


VOCABULARIES = {
    "gemma3_text": 262208,
    "gemma3": 262208,
    "gemma2": 256000,
    "gemma": 256000,
    "llama": 32000,
    "mistral": 32000,
}
"""Of types whose files may leave it out."""


def _vocabulary(kind: str) -> Config:
    return {"vocab_size": VOCABULARIES[kind]} if kind in VOCABULARIES else {}


def part_of(config: Config, key: str) -> Config | None:
    """A nested configuration with what its type leaves out, None where there is none."""
    inner = config.get(key)
    if not isinstance(inner, Mapping):
        return None
    outer = model_type(str(config.get("model_type", "")))
    return {**model_type(str(inner.get("model_type") or outer.parts.get(key, ""))).values, **inner}


def modules(config: Config) -> Iterator[Module]:
    """All modules of a model, drafts left out."""
    text = text_of(config)
    hidden, vocabulary = (
        number(text, "hidden_size", "n_embd", "d_model"),
        number(text, "padded_vocab_size", "vocab_size"),
    )
    yield Module("model.embed_tokens", vocabulary * hidden, linear=False)
    if not tied(config, text):
        yield Module("lm_head", vocabulary * hidden)
    per_layer = number(text, "vocab_size_per_layer_input") * number(text, "hidden_size_per_layer_input")
    if per_layer:
        yield Module("model.embed_tokens_per_layer", per_layer * layers_of(text), linear=False)
    for layer in range(layers_of(text)):
        for module in _layer(text, layer, hidden):
            yield module._replace(path=f"model.layers.{layer}.{module.path}", layer=layer)
    yield from _towers(config, hidden)


def layers_of(text: Config) -> int:
    """Layers of the language model."""
    return min(number(text, "num_hidden_layers", "n_layer", "num_layers", "n_layers"), MAX_LAYERS)


ALWAYS_TIED = (
    "gemma",
    "gemma2",
    "gemma3",
    "gemma3_text",
    "gemma4",
    "gemma4_text",
    "gpt2",
    "falcon",
    "cohere",
    "cohere2",
)


def tied(config: Config, text: Config) -> bool:
    """Whether the head is the embedding."""
    written = text.get("tie_word_embeddings", config.get("tie_word_embeddings"))
    return written if isinstance(written, bool) else text.get("model_type") in ALWAYS_TIED


def _layer(text: Config, layer: int, hidden: int) -> Iterator[Module]:
    kind = _kind(text, layer)
    if kind == "mamba":
        yield from _mamba(text, hidden)
    elif kind == "linear_attention":
        yield from _delta_net(text, hidden)
    elif kind == "attention":
        yield from _latent(text, hidden) if number(text, "kv_lora_rank") else _attention(text, layer, hidden)
    if kind in ("moe", "mlp") or "hybrid_override_pattern" not in text:
        yield from _experts(text, hidden) if _is_sparse(text, layer, kind) else _mlp(text, hidden, layer)
    yield Module("norm", 2 * hidden, WHOLE, linear=False)


PATTERN = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}


def _kind(text: Config, layer: int) -> str:
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str) and layer < len(pattern):
        return PATTERN.get(pattern[layer], "attention")
    kinds = text.get("layer_types") or text.get("layers_block_type")
    if isinstance(kinds, list) and layer < len(kinds):
        name = str(kinds[layer])
        return name if name in ("mamba", "moe", "mlp", "linear_attention") else "attention"
    every = number(text, "full_attention_interval")
    if number(text, "linear_num_value_heads") and (every or "qwen3_next" in str(text.get("model_type"))):
        return "attention" if (layer + 1) % (every or 4) == 0 else "linear_attention"
    return "attention"


def _attention(text: Config, layer: int, hidden: int) -> Iterator[Module]:
    heads = number(text, "num_attention_heads", "n_head", default=1)
    groups = number(text, "multi_query_group_num", "num_key_value_heads", "num_attention_groups", "num_kv_heads")
    groups = groups or (1 if text.get("multi_query") else heads)
    size = number(text, "head_dim", "kv_channels", "attention_head_dim") or hidden // max(heads, 1)
    kinds = text.get("layer_types")
    if isinstance(kinds, list) and layer < len(kinds) and kinds[layer] == "full_attention":
        size = number(text, "global_head_dim") or size
        groups = number(text, "num_global_key_value_heads") or groups
    query = heads * size * (2 if _is_gated(text) else 1)
    yield Module("self_attn.q_proj", hidden * query)
    yield Module("self_attn.k_proj", hidden * groups * size, kv=True)
    yield Module("self_attn.v_proj", hidden * groups * size, kv=True)
    yield Module("self_attn.o_proj", heads * size * hidden)


def _is_gated(text: Config) -> bool:
    """Whether queries come with a gate of their size."""
    return bool(text.get("attn_output_gate")) or bool(number(text, "linear_num_value_heads"))


def _latent(text: Config, hidden: int) -> Iterator[Module]:
    heads, rank, low = number(text, "num_attention_heads"), number(text, "kv_lora_rank"), number(text, "q_lora_rank")
    nope, rope, value = number(text, "qk_nope_head_dim"), number(text, "qk_rope_head_dim"), number(text, "v_head_dim")
    if low:
        yield Module("self_attn.q_a_proj", hidden * low, WHOLE)
        yield Module("self_attn.q_b_proj", low * heads * (nope + rope))
    else:
        yield Module("self_attn.q_proj", hidden * heads * (nope + rope))
    yield Module("self_attn.kv_a_proj_with_mqa", hidden * (rank + rope), WHOLE)
    yield Module("self_attn.kv_b_proj", rank * heads * (nope + value))
    yield Module("self_attn.o_proj", heads * value * hidden)
    index, size = number(text, "index_n_heads"), number(text, "index_head_dim")
    if index:
        yield Module("self_attn.indexer.wq_b", (low or hidden) * index * size, WHOLE)
        yield Module("self_attn.indexer.wk", hidden * size, WHOLE)


def _delta_net(text: Config, hidden: int) -> Iterator[Module]:
    keys = number(text, "linear_num_key_heads") * number(text, "linear_key_head_dim")
    heads = number(text, "linear_num_value_heads")
    values = heads * number(text, "linear_value_head_dim")
    yield Module("linear_attn.in_proj_qkv", hidden * (2 * keys + values))
    yield Module("linear_attn.in_proj_z", hidden * values)
    yield Module("linear_attn.in_proj_a", hidden * 2 * heads)
    yield Module(
        "linear_attn.conv1d", (2 * keys + values) * number(text, "linear_conv_kernel_dim", default=4), linear=False
    )
    yield Module("linear_attn.out_proj", values * hidden)


def _mamba(text: Config, hidden: int) -> Iterator[Module]:
    heads, size = number(text, "mamba_num_heads", "mamba_n_heads"), number(text, "mamba_head_dim", "mamba_d_head")
    inner = heads * size or number(text, "mamba_expand", "expand", default=2) * hidden
    states = 2 * number(text, "n_groups", "mamba_n_groups", default=1) * number(text, "ssm_state_size", "mamba_d_state")
    yield Module("mixer.in_proj", hidden * (2 * inner + states + heads))
    yield Module(
        "mixer.conv1d", (inner + states) * number(text, "conv_kernel", "mamba_d_conv", default=4), linear=False
    )
    yield Module("mixer.out_proj", inner * hidden)


EXPERT_COUNTS = ("n_routed_experts", "num_experts", "num_local_experts", "moe_num_experts")
UNGATED = ("gpt2", "falcon", "gpt_neox", "phi", "opt", "gptj", "codegen", "nemotron", "nemotron_h", "starcoder2",
           "bloom", "mpt", "gpt_bigcode", "bert", "roberta", "xlm-roberta", "whisper")  # fmt: skip
"""Model types whose MLP has two matrices and not three."""


def _is_sparse(text: Config, layer: int, kind: str) -> bool:
    if kind in ("moe", "mlp"):
        return kind == "moe"
    if not number(text, *EXPERT_COUNTS):
        return False
    kinds = text.get("mlp_layer_types")
    if isinstance(kinds, list) and layer < len(kinds):
        return bool(kinds[layer] == "sparse")
    only = text.get("mlp_only_layers")
    dense = layer in only if isinstance(only, list) else False
    enumerated = text.get("moe_layers_enum")
    if isinstance(enumerated, str):
        return str(layer) in enumerated.split(",")
    pattern = text.get("moe_layer_freq")
    if isinstance(pattern, list) and layer < len(pattern):
        return bool(pattern[layer])
    step = number(text, "decoder_sparse_step", "interleave_moe_layer_step", default=1) or 1
    first = number(text, "first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")
    return layer >= first and (layer + 1) % step == 0 and not dense


def _gates(text: Config) -> int:
    return 2 if text.get("model_type") in UNGATED or text.get("mlp_hidden_act") == "relu2" else 3


def _mlp(text: Config, hidden: int, layer: int) -> Iterator[Module]:
    inner = number(text, "intermediate_size_mlp", "intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim")
    inner = inner or 4 * hidden
    shared_from = layers_of(text) - number(text, "num_kv_shared_layers")
    if text.get("use_double_wide_mlp") and layer >= shared_from:
        inner *= 2
    gates = _gates(text)
    yield Module("mlp.gate_up_proj", (gates - 1) * hidden * inner)
    yield Module("mlp.down_proj", hidden * inner)


def _experts(text: Config, hidden: int) -> Iterator[Module]:
    count = number(text, *EXPERT_COUNTS)
    inner = number(text, "moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size")
    latent = number(text, "moe_latent_size")
    wide, gates = latent or hidden, _gates(text)
    yield Module("mlp.gate", count * hidden, WHOLE)
    yield Module("mlp.experts.0.gate_up_proj", count * (gates - 1) * wide * inner, EXPERTS)
    yield Module("mlp.experts.0.down_proj", count * wide * inner, EXPERTS)
    if latent:
        yield Module("mlp.latent_proj", 2 * hidden * latent, WHOLE)
    shared = _shared_inner(text, inner)
    if shared:
        yield Module("mlp.shared_experts.down_proj", gates * hidden * shared)
    if text.get("enable_moe_block"):
        yield from _mlp(text, hidden, 0)


def _shared_inner(text: Config, inner: int) -> int:
    """Width of what every token passes beside the experts that are chosen for it."""
    written = number(
        text,
        "moe_shared_expert_intermediate_size",
        "shared_expert_intermediate_size",
        "share_expert_dim",
        "shared_intermediate_size",
    )
    if text.get("model_type") in ("llama4", "llama4_text"):
        return inner
    several = number(text, "n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
    return written * max(1, several) if written and several > 1 else written or several * inner


def _towers(config: Config, hidden: int) -> Iterator[Module]:
    """Encoders of images, video and sound, and what leads from them to the language model."""
    thinker = config.get("thinker_config")
    parent = thinker if isinstance(thinker, Mapping) else config
    for key in ("vision_config", "audio_config", "vit_config", "vision_tower"):
        tower = part_of(parent, key)
        if tower is not None:
            yield from _tower(tower, hidden)


def _tower(tower: Config, hidden: int) -> Iterator[Module]:
    wide = number(tower, "hidden_size", "embed_dim", "d_model", "width")
    depth = number(tower, "depth", "num_hidden_layers", "encoder_layers", "layers")
    inner = number(tower, "intermediate_size", "encoder_ffn_dim") or 4 * wide
    gates = 3 if tower.get("model_type") in ("pixtral", "qwen2_5_vl", "gemma4_vision") else 2
    yield Module("visual.blocks", depth * (4 * wide * wide + gates * wide * inner))
    patch = number(tower, "patch_size", default=14) ** 2 * 3 * number(tower, "temporal_patch_size", default=1)
    yield Module("visual.patch_embed", wide * patch, WHOLE, linear=False)
    merged = wide * number(tower, "spatial_merge_size", default=1) ** 2
    mergers = 1 + len(tower.get("deepstack_visual_indexes") or ())
    yield Module("visual.merger", mergers * (merged * merged + merged * (number(tower, "out_hidden_size") or hidden)))
