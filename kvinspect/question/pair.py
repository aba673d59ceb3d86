"""A model under its arguments as one instance of a prefill/decode pair."""

from __future__ import annotations

from typing import Any

from kvinspect.connectors.catalogue import read
from kvinspect.connectors.pair import End, PairVerdict, connector_of, verdict
from kvinspect.document.refusal import Refused
from kvinspect.models import nested
from kvinspect.models.hybrid_manager import READS_HIDDEN_STATES
from kvinspect.models.specs_answer import SpecsAnswer
from kvinspect.question.model import ModelQuestion
from kvinspect.question.question import Question
from kvinspect.releases import lookup

DOCUMENT = "a document says nothing of the model and its ranks that the connector compares; name the models with flags"


def pair_verdict(word: str, prefill: Question | ModelQuestion, decode: Question | ModelQuestion) -> PairVerdict:
    """What a connector makes of the pair. Raises DocumentError for a connector that the release lacks."""
    name = connector_of(word, read(lookup.number(_version(decode))))
    if isinstance(prefill, Question) or isinstance(decode, Question):
        return PairVerdict(name, None, (DOCUMENT,))
    stopped = [
        f"{side} does not start: {asked.refusal.text}"
        for side, asked in (("prefill", prefill), ("decode", decode))
        if asked.refusal is not None
    ]
    if stopped:
        return PairVerdict(name, False, tuple(stopped))
    try:
        return verdict(name, _end(prefill), _end(decode))
    except Refused as refused:
        return PairVerdict(name, False, (f"the engine does not start: {refused.refusal.text}",))


def _version(asked: Question | ModelQuestion) -> str:
    return asked.release.version if isinstance(asked, Question) else asked.served.rules.version


def _end(asked: ModelQuestion) -> End:
    """The facts that the handshake compares. Raises Refused where the cache cannot be made."""
    stage, served = asked.stages[0], asked.served
    setting, arguments = stage.setting, stage.setting.arguments
    made = asked.cache.about.cache
    sizes = {
        layer: size or group.first_spec.block_size
        for group, size in zip(made.groups, made.kernel_blocks, strict=False)
        for layer in group.layer_names
    }
    attention = [layer for layer in stage.layers if not layer.spec.holds_states and layer.name in sizes]
    block = stage.specs.blocks.block_size
    kernel = sizes[attention[0].name] if attention else block
    pages = tuple(layer.page_size_bytes * sizes[layer.name] // layer.spec.block_size for layer in attention)
    transfer = served.transfer
    manager_off = made.document.model.scheduler_config.disable_hybrid_kv_cache_manager
    return End(
        hashed=_hashed(asked, stage, bool(manager_off)),
        version=lookup.number(served.rules.version),
        ranks=arguments.tensor_parallel_size,
        stages=arguments.pipeline_parallel_size,
        contexts=arguments.decode_context_parallel_size,
        kv_heads=setting.shape.kv_heads,
        block_size=kernel,
        blocks_of_one=max(1, block // kernel),
        pages=pages,
        layout=_layout(asked, setting.shape.is_mla),
        is_mla=setting.shape.is_mla,
        has_states=len(attention) < len(stage.layers),
        several_kinds=len({layer.spec.kind for layer in stage.layers}) > 1 and not manager_off,
        caches_prefixes=setting.prefix_caching,
        extra=transfer.extra if transfer else {},
        permutes=bool(_transfer(asked).get("enable_permute_local_kv")),
    )


def _transfer(asked: ModelQuestion) -> dict[str, Any]:
    written = asked.served.written
    found = written.get("kv_transfer_config", written.get("kv-transfer-config"))
    return dict(found) if found else {}


def _hashed(asked: ModelQuestion, stage: SpecsAnswer, manager_off: bool) -> dict[str, Any]:
    """The factors of the compatibility hash."""
    setting, served = stage.setting, asked.served
    transfer, first = served.transfer, stage.layers[0].backend.backend if stage.layers else None
    name = transfer.name if transfer else ""
    return {
        "vllm_version": lookup.number(served.rules.version),
        "model": served.model.name,
        "dtype": setting.dtype,
        "num_kv_heads": setting.shape.kv_heads,
        "head_size": setting.shape.head_size,
        "num_hidden_layers": served.model.text.layers,
        "attn_backend_name": first,
        "cache_dtype": setting.cache_dtype,
        "cross_layers_blocks": bool(transfer and transfer.extra.get("enable_cross_layers_blocks")),
        "is_hma_enabled": not manager_off,
        "speculative_config": _drafting(asked, stage),
        "transfer_mode": "push" if name == "NixlPushConnector" else "pull",
    }


def _drafting(asked: ModelQuestion, stage: SpecsAnswer) -> str | None:
    """What is compared of a draft that reads hidden states, None of others."""
    if stage.specs.method not in READS_HIDDEN_STATES:
        return None
    written = nested.speculative(asked.served.written) or {}
    cache = written.get("kv_cache_dtype") or stage.setting.cache_dtype
    said = [stage.specs.method, written.get("model"), f"cache {cache}", written.get("revision")]
    said += ["all tokens at once"] if written.get("parallel_drafting") is True else []
    return " ".join(str(one) for one in said if one)


def _layout(asked: ModelQuestion, mla: bool) -> str:
    """The layout of the whole cache, up to 0.28 that of the environment or of the connector."""
    made = asked.cache.about.cache
    if asked.cache.release.one_buffer:
        return made.layout.name
    transfer = asked.served.transfer
    wanted = transfer.layout(mla) if transfer else None
    return asked.stages[0].setting.arguments.variable("VLLM_KV_CACHE_LAYOUT") or wanted or "NHD"
