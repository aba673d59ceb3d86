"""The settings under which the layers of a model are made, all questions answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kvinspect.backends.conditions import choose
from kvinspect.backends.deployment_facts import DeploymentFacts
from kvinspect.backends.flash_attention import FlashAttention
from kvinspect.document.numbers import counted
from kvinspect.models.arguments import EngineArguments
from kvinspect.models.causality import declared_causal
from kvinspect.models.config import Model
from kvinspect.models.registry import Architecture
from kvinspect.models.resolve import (
    model_window,
    quant_mode,
    resolve_cache_dtype,
    resolve_dtype,
    resolve_length,
    stopped,
    torch_dtype,
)
from kvinspect.models.shape import Shape, sees_images, shape_of
from kvinspect.models.turboquant import left_unquantised
from kvinspect.releases.model_rules import ModelRules
from kvinspect.releases.release import Release
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.kinds import attention

DEFAULT_BLOCK_SIZE = 16
"""Tokens of a block where neither user nor backend says (`CacheConfig.DEFAULT_BLOCK_SIZE`)."""

DEFAULT_BATCHED_TOKENS = 2048
DEFAULT_SEQS = 128
"""`SchedulerConfig`'s defaults. `vllm serve` has others by the size of the GPU and passes them on."""


class ModelSetting(NamedTuple):
    """What is settled before layers are made. Sizes in tokens; `block_size` is the user's, None where none is given."""

    release: Release
    rules: ModelRules
    platform: str
    capability: str | None
    arguments: EngineArguments
    architecture: Architecture
    shape: Shape
    dtype: str
    cache_dtype: str
    max_model_len: int
    sliding_window: int | None
    """Of every layer without one of its own, where the whole model has one window."""
    is_hybrid: bool
    prefix_caching: bool
    chunked_prefill: bool
    mamba_cache_mode: str
    mamba_block_size: int | None
    mamba_ssm_cache_dtype: str
    attention_backend: str | None
    flash_attn_version: int | None = None
    skip_layers: tuple[str, ...] = ()
    """Numbers of layers that are left unquantised, and `sliding_window` for those with one."""
    mamba_chunk_size: int = 2048
    """Tokens that a state-space kernel works on at once."""
    default_batched_tokens: int = DEFAULT_BATCHED_TOKENS
    default_seqs: int = DEFAULT_SEQS
    """Of a batch where the arguments say nothing; `vllm serve` takes others."""
    non_causal: bool = False
    """Whether layers see tokens behind their own, as those of some drafts."""

    @property
    def ranks(self) -> int:
        """Ranks of tensor parallelism."""
        return self.arguments.tensor_parallel_size

    @property
    def block_size(self) -> int | None:
        """The user's block size."""
        return self.arguments.block_size

    def quant_mode(self, cache_dtype: str) -> str:
        """The quantisation mode of a cache dtype in the release."""
        return quant_mode(cache_dtype, self.release.catalogue["kv_quant_modes"])

    def latent_v(self, size: int) -> int:
        """The V size of a latent row of `size` elements, as the release's specs have it."""
        return 0 if self.rules.names_rows else size

    def model_backends(self, model: str, flash_attn_version: int | None = None) -> Sequence[str]:
        """The backends that a model's own code tries for its layers, most preferred first."""
        facts = {**self.deployment.facts(), "flash_attn_version": flash_attn_version}
        found: Sequence[str] = choose(self.release.catalogue["model_selection"][model], facts)
        return found

    @property
    def flash_attention(self) -> FlashAttention:
        """FlashAttention on the device."""
        return FlashAttention(self.rules.flash_attention, self.capability, self.flash_attn_version)

    @property
    def deployment(self) -> DeploymentFacts:
        """The deployment as the catalogue's conditions ask for it; heads are those of one rank."""
        query = max(1, self.shape.heads // self.ranks)
        kv = 1 if self.shape.is_mla else max(1, self.shape.kv_heads // self.ranks)
        return DeploymentFacts(self.platform, self.capability, self.cache_dtype, query, kv)


def settle(
    model: Model,
    release: Release,
    platform: str,
    capability: str | None,
    arguments: EngineArguments,
    architecture: Architecture,
) -> ModelSetting:
    """Answer every question of a model's settings, in the engine's order. Raises DocumentError where it would stop."""
    pooling = architecture.runner == "pooling"
    shape = shape_of(model, _may_see(model, architecture, arguments, release.models))
    hybrid = _is_hybrid(model, architecture)
    rule = release.models
    prefix, chunked = _caching(model, architecture, arguments, hybrid, rule)
    length = resolve_length(model, shape, arguments, rule)
    mode, block = _mamba(architecture, arguments, hybrid, prefix, length, rule)
    backend = arguments.attention_backend
    _check_ranks(model, shape, arguments, architecture)
    cache_dtype = resolve_cache_dtype(model, arguments.kv_cache_dtype, release)
    packed = cache_dtype.startswith("turboquant_")
    ends = left_unquantised(model.text.layers) if packed and not hybrid else ()
    return ModelSetting(
        release=release,
        rules=rule,
        platform=platform,
        capability=capability,
        arguments=arguments,
        architecture=architecture,
        shape=shape,
        dtype=resolve_dtype(model, arguments.dtype, platform, capability, pooling),
        cache_dtype=cache_dtype,
        max_model_len=length,
        sliding_window=model_window(model, arguments, rule),
        is_hybrid=hybrid,
        prefix_caching=prefix,
        chunked_prefill=chunked,
        mamba_cache_mode=mode,
        mamba_block_size=block,
        mamba_ssm_cache_dtype=arguments.mamba_ssm_cache_dtype,
        attention_backend=None if backend is None or backend.lower() == "auto" else backend.upper(),
        flash_attn_version=2 if packed else arguments.flash_attn_version,
        skip_layers=tuple(dict.fromkeys((*arguments.kv_cache_dtype_skip_layers, *ends))),
        mamba_chunk_size=model.text.first_count("mamba_chunk_size", "chunk_size") or 2048,
    )


def _may_see(model: Model, architecture: Architecture, arguments: EngineArguments, rules: ModelRules) -> bool:
    """Whether images and the like may come in, as far as the release asks."""
    if "multimodal" not in architecture.flags:
        return False
    seen = not arguments.language_model_only and sees_images(model.config, arguments.forbidden_modalities)
    return seen or not rules.text_alone_is_causal


def _is_hybrid(model: Model, architecture: Architecture) -> bool:
    """Whether attention and states stand side by side; some configurations of hybrids have attention alone."""
    if "hybrid" not in architecture.flags:
        return False
    kinds = model.config.words("layer_types")
    return "layer_types" not in model.config or any(kind != "attention" for kind in kinds)


def attention_type(model: Model, architecture: Architecture, hybrid: bool, rules: ModelRules) -> str:
    """`ModelConfig.attn_type`: decoder, encoder_only, encoder_decoder, hybrid or attention_free."""
    config = model.config
    if architecture.runner == "pooling":
        declared = declared_causal(config, architecture.registered, rules.colqwen_declares)
        causal = config.flag("is_causal", True) if declared is None else declared
        one_way = architecture.pooling_type != "CLS" and causal
        return architecture.attn_type if one_way else "encoder_only"
    if hybrid:
        return "hybrid"
    if "attention_free" in architecture.flags:
        return "attention_free"
    both = config.flag("is_encoder_decoder") or model.text.flag("is_encoder_decoder")
    return "encoder_decoder" if both else "decoder"


def _caching(
    model: Model, architecture: Architecture, arguments: EngineArguments, hybrid: bool, rule: ModelRules
) -> tuple[bool, bool]:
    """(prefix caching, chunked prefill), by default where the model can; hybrids by the release's rule."""
    kind = attention_type(model, architecture, hybrid, rule)
    if architecture.runner == "pooling":
        able = kind == "decoder" and architecture.pooling_type not in ("MEAN", "CLS")
        prefix, chunked = able and (rule.hybrids_cache_prefixes or not hybrid), able
    else:
        prefix = kind == "decoder" or (kind == "hybrid" and rule.hybrids_cache_prefixes)
        chunked = kind != "encoder_decoder"
    wanted, chunks = arguments.enable_prefix_caching, arguments.enable_chunked_prefill
    return prefix if wanted is None else wanted, chunked if chunks is None else chunks


def _mamba(
    architecture: Architecture, arguments: EngineArguments, hybrid: bool, prefix: bool, length: int, rule: ModelRules
) -> tuple[str, int | None]:
    """(cache mode, block size in tokens) of state-space layers (`MambaModelConfig`)."""
    block = arguments.mamba_block_size
    if block is not None and block != length and not prefix:
        raise stopped("mamba_block_size", "mamba_block_size counts with enable_prefix_caching only")
    if not hybrid and architecture.cls not in STATES_ALONE:
        return arguments.mamba_cache_mode, block
    if not prefix:
        return "none", length if block is None else block
    mode = arguments.mamba_cache_mode
    able = "mamba_prefix_caching" in architecture.flags
    mode = ("all" if able and rule.states_cache_all else "align") if mode == "none" else mode
    mode = "align" if mode == "all" and not able else mode
    return mode, block or arguments.block_size or DEFAULT_BLOCK_SIZE


STATES_ALONE = ("MambaForCausalLM", "Mamba2ForCausalLM")
"""Classes without attention whose settings are those of state-space layers."""


def _check_ranks(model: Model, shape: Shape, arguments: EngineArguments, architecture: Architecture) -> None:
    """`verify_with_parallel_config`."""
    ranks, contexts = arguments.tensor_parallel_size, arguments.decode_context_parallel_size
    if shape.heads % ranks:
        text = f"{counted(shape.heads, 'attention head')} cannot be divided among tensor_parallel_size {ranks}"
        model.text.refuse("num_attention_heads", text)
    if arguments.pipeline_parallel_size > 1 and "pp" not in architecture.flags:
        raise stopped("pipeline_parallel_size", f"{architecture.cls} cannot be cut into pipeline stages")
    if contexts > 1 and not shape.is_mla:
        most = ranks // max(1, shape.kv_heads)
        if ranks <= shape.kv_heads or contexts > most:
            heads = counted(shape.kv_heads, "KV head")
            text = f"decode_context_parallel_size {contexts} needs tensor_parallel_size above {heads}"
            raise stopped("decode_context_parallel_size", f"{text} × {contexts - 1}")


def one_token(setting: ModelSetting, cache_dtype: str) -> AttentionSpec:
    """The spec of one token of a layer with the model's own heads, as block sizes are weighed with."""
    kv_heads = 1 if setting.shape.is_mla else max(1, setting.shape.kv_heads // setting.ranks)
    size = setting.shape.head_size
    return attention(
        "mla_attention" if setting.shape.is_mla else "full_attention",
        block_size=1,
        num_kv_heads=kv_heads,
        head_size=size,
        head_size_v=setting.latent_v(size) if setting.shape.is_mla else size,
        dtype=torch_dtype(cache_dtype, setting.dtype),
        kv_quant_mode=setting.quant_mode(cache_dtype),
    )
