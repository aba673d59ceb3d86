"""The whole decision for a document: every group's support, the least of them, and the mode that comes out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.backends.conditions import Facts
from kvinspect.cudagraph.levels import Level, deployment_facts, level_of
from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.resolve import Request, Resolution, resolve
from kvinspect.cudagraph.rules import GraphRules
from kvinspect.cudagraph.support import AttentionCGSupportInfo
from kvinspect.document.document import Document
from kvinspect.document.model import EncoderGroupEntry
from kvinspect.document.names import Expander
from kvinspect.engine.chain import Stages
from kvinspect.engine.document_specs import layer_spec
from kvinspect.engine.start_up_steps import stage
from kvinspect.specs.kinds import LayerSpec


class GroupLevel(NamedTuple):
    """An attention group and what its backend answers."""

    kv_cache_group_id: int | None
    """None for encoder layers, which stand outside the KV cache."""
    backend: str
    backend_class: str
    layer_names: tuple[str, ...]
    spec: LayerSpec | None
    level: Level
    counts: bool = True
    """Whether the release lets the group narrow the support."""
    narrowed: bool = False


class Decision(NamedTuple):
    """What the engine decides for a document."""

    groups: tuple[GroupLevel, ...]
    info: AttentionCGSupportInfo
    request: Request
    resolution: Resolution


def decide(cache: Stages, rules: GraphRules, overrides: Facts | None = None) -> Decision:
    """Decide for a cache, whose groups may have been built; `overrides` are facts that replace the deployment's.

    Raises Refused where the engine does not come as far, Unknown for an unknown name.
    """
    built, document = cache.built, cache.document
    facts = {**deployment_facts(document), **(overrides or {})}
    groups, info = _narrowed([*_cache_groups(cache, facts), *_encoder_groups(cache, rules, facts)])
    has_states = any(group.spec.holds_states for group in built.attention.groups)
    request = request_of(document)._replace(state_blocks=cache.num_blocks if has_states else None)
    return Decision(groups, info, request, resolve(request, info))


def request_of(document: Document) -> Request:
    """What a document asks for, its state-space blocks left out."""
    model = document.model
    compilation = model.compilation_config
    return Request(
        mode=CUDAGraphMode[compilation.cudagraph_mode or "NONE"],
        vllm_compile=compilation.mode == "VLLM_COMPILE",
        splits_attention=compilation.splitting_ops_contain_attention,
        inductor_partition=compilation.use_inductor_graph_partition,
        query_len=1 + model.speculative_config.num_speculative_tokens,
        max_num_seqs=model.scheduler_config.max_num_seqs,
    )


def _narrowed(groups: list[GroupLevel]) -> tuple[tuple[GroupLevel, ...], AttentionCGSupportInfo]:
    """The groups with what each did to the support, and the support behind the last."""
    info, out = AttentionCGSupportInfo(), []
    for group in groups:
        after = info.narrow(group.level.support, group.backend_class) if group.counts else info
        out.append(group._replace(narrowed=after is not info))
        info = after
    return tuple(out), info


def _cache_groups(cache: Stages, facts: Facts) -> Iterator[GroupLevel]:
    heads = cache.document.model.model_config.num_attention_heads
    for group in cache.flat:
        level = level_of(group.backend, group.spec, heads, facts, cache.release.catalogue)
        name = group.spec.layers_class(group.backend.class_name)
        yield GroupLevel(group.kv_cache_group_id, group.backend.name, name, group.layer_names, group.spec, level)


def _encoder_groups(cache: Stages, rules: GraphRules, facts: Facts) -> Iterator[GroupLevel]:
    model = cache.document.model
    heads = model.model_config.num_attention_heads
    for i, entry in enumerate(model.encoder_attention_groups):
        path = ("encoder_attention_groups", i)
        with stage("init_attn_backend", path=path):
            backend = cache.backends.named(entry.backend, (*path, "backend"))
            spec = _encoder_spec(entry, cache, i)
        level = level_of(backend, spec, heads, facts, cache.release.catalogue)
        counts = rules.encoder_groups_narrow
        yield GroupLevel(None, backend.name, backend.class_name, Expander().all(entry.layer_names), spec, level, counts)


def _encoder_spec(entry: EncoderGroupEntry, cache: Stages, i: int) -> LayerSpec | None:
    if entry.kv_cache_spec is None:
        return None
    path = ("encoder_attention_groups", i, "kv_cache_spec")
    return layer_spec(entry.kv_cache_spec, cache.release.catalogue, path)
