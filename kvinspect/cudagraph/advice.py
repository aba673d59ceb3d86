"""Which single change gives the requested mode: every piece of advice is a changed document, decided again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from kvinspect.backends.candidates import Ask, candidates, misfits_of
from kvinspect.cudagraph.decide import Decision, GroupLevel
from kvinspect.cudagraph.mode import CUDAGraphMode
from kvinspect.cudagraph.rules import GraphRules
from kvinspect.cudagraph.running import mode_of, running
from kvinspect.cudagraph.support import AttentionCGSupport
from kvinspect.document.document import Document, LayerUse
from kvinspect.document.refusal import Refused
from kvinspect.engine.align_answer import AnswerHeader
from kvinspect.engine.align_document import align_document
from kvinspect.engine.chain import Stages

MOST_BACKENDS = 3
"""So many backends are proposed, those that the platform prefers."""


class Change(NamedTuple):
    """One change of a document, in words and done; `checked` says against what, besides the decision itself."""

    key: str
    source: Any
    target: Any
    text: str
    document: Document
    checked: str = "re-evaluated"


class Advice(NamedTuple):
    """A change and the mode that it gives."""

    change: Change
    mode: CUDAGraphMode

    def to_dict(self) -> dict[str, Any]:
        """The advice as JSON."""
        change = self.change
        what = {"key": change.key, "from": change.source, "to": change.target}
        return {"change": what, "text": change.text, "resolved_mode": self.mode.name, "checked": change.checked}


class Decided(NamedTuple):
    """A decided document, for which advice is sought."""

    cache: Stages
    rules: GraphRules
    setting: AnswerHeader
    decision: Decision

    @property
    def document(self) -> Document:
        """The document as it is."""
        return self.cache.document


def advise(decided: Decided) -> tuple[Advice, ...]:
    """The changes that give the requested mode; where none does, those that give a better one than now."""
    wanted, now = decided.decision.request.mode, running(decided.decision, decided.cache, decided.rules).mode
    if now is wanted:
        return ()
    tried = [advice for change in _changes(decided) if (advice := _tried(change, decided))]
    exact = [advice for advice in tried if advice.mode is wanted]
    if exact:
        return tuple(exact)
    rank = -1 if now is None else now.rank
    return tuple(advice for advice in (*tried, *_another_mode(decided)) if advice.mode.rank > rank)


def _tried(change: Change, decided: Decided) -> Advice | None:
    try:
        mode = mode_of(Stages(change.document, decided.cache.release), decided.rules)
    except Refused:
        return None
    return Advice(change, mode) if mode else None


def _changes(decided: Decided) -> Iterator[Change]:
    yield from _other_backends(decided)
    yield from _trtllm(decided.document)
    yield from _fewer_speculative_tokens(decided)
    yield from _fewer_sequences(decided)
    yield from _compilation(decided.document)


def needed(decision: Decision) -> AttentionCGSupport:
    """The support that the requested mode takes."""
    if decision.request.mode.full_mixed:
        return AttentionCGSupport.ALWAYS
    several = decision.request.query_len > 1
    return AttentionCGSupport.UNIFORM_BATCH if several else AttentionCGSupport.UNIFORM_SINGLE_TOKEN_DECODE


def _other_backends(decided: Decided) -> Iterator[Change]:
    """The backends that the platform would take for all groups that support too little, in their place."""
    decision, cache = decided.decision, decided.cache
    culprits = [g for g in decision.groups if g.counts and g.level.support < needed(decision)]
    inside = [group for group in culprits if group.kv_cache_group_id is not None]
    if not inside or len(inside) < len(culprits) or not all(g.spec and g.spec.is_attention for g in inside):
        return
    proposed = 0
    for name in candidates(decided.cache.release.catalogue, cache.deployment, _ask(inside[0], cache)):
        if any(name == group.backend or not _fits(name, group, cache) for group in inside):
            continue
        change = _with_backend(decided.document, name, inside)
        checked = _checked(change, _takes(inside[0], cache), decided)
        if checked:
            yield change._replace(checked=checked)
            proposed += 1
        if proposed == MOST_BACKENDS:
            return


def _ask(group: GroupLevel, cache: Stages) -> Ask:
    spec, model = group.spec, cache.document.model
    assert spec is not None
    assert spec.is_attention
    sparse = bool(cache.release.catalogue["backends"].get(group.backend, {}).get("is_sparse"))
    connected = model.kv_transfer_config.kv_connector is not None
    non_causal = model.attention_config.use_non_causal
    return Ask.of(spec, model.cache_dtype, use_sparse=sparse, use_non_causal=non_causal, use_kv_connector=connected)


def _takes(group: GroupLevel, cache: Stages) -> str:
    """What a backend was asked about, in words."""
    ask, deployment = _ask(group, cache), cache.deployment
    device = " ".join(filter(None, (deployment.platform, deployment.capability)))
    dtypes = f"{ask.dtype}, cache dtype {ask.cache_dtype}"
    return f"head size {ask.head_size}, block size {ask.block_size}, {dtypes} on {device}"


def _fits(name: str, group: GroupLevel, cache: Stages) -> bool:
    entry = cache.release.catalogue["backends"][name]
    return not any(misfits_of(entry, _ask(group, cache), cache.deployment.facts()))


def _with_backend(document: Document, name: str, groups: list[GroupLevel]) -> Change:
    uses = dict(document.uses)
    for group in groups:
        for layer in group.layer_names:
            old = uses.get(layer)
            uses[layer] = LayerUse(name, old.path if old else (), old.num_heads_q if old else None)
    ids = sorted({group.kv_cache_group_id for group in groups if group.kv_cache_group_id is not None})
    old_names = list(dict.fromkeys(group.backend for group in groups))
    source = old_names[0] if len(old_names) == 1 else old_names
    text = f"--attention-backend {name}"
    key = f"kv_cache_config.kv_cache_groups[{','.join(map(str, ids))}].backend"
    return Change(key, source, name, text, document._replace(uses=uses))


def _checked(change: Change, takes: str, decided: Decided) -> str:
    """What a changed backend was checked against, "" where its views would not be sound or it would not start."""
    aligned = align_document(change.document, decided.cache.release, decided.setting)
    if not aligned.clean:
        return ""
    return f"re-evaluated: supports {takes}; layout sound ({aligned.decision})"


def _trtllm(document: Document) -> Iterator[Change]:
    if document.model.attention_config.use_trtllm_attention is False:
        changed = _with(document, "attention_config", use_trtllm_attention=None)
        yield Change(
            "attention_config.use_trtllm_attention",
            False,
            None,
            "drop --attention-config.use_trtllm_attention=false",
            changed,
        )


def _fewer_speculative_tokens(decided: Decided) -> Iterator[Change]:
    """The most speculative tokens, fewer than now, with which the requested mode comes out."""
    document = decided.document
    now = document.model.speculative_config.num_speculative_tokens
    for tokens in sorted({*range(max(0, now - 8), now), *([0] if now else [])}, reverse=True):
        changed = _with(document, "speculative_config", num_speculative_tokens=tokens)
        text = f"--speculative-config.num_speculative_tokens {tokens}" if tokens else "drop --speculative-config"
        change = Change("speculative_config.num_speculative_tokens", now, tokens, text, changed)
        found = _tried(change, decided)
        if found and found.mode is decided.decision.request.mode:
            yield change
            return


def _fewer_sequences(decided: Decided) -> Iterator[Change]:
    blocks, now = decided.decision.request.state_blocks, decided.decision.request.max_num_seqs
    if blocks is not None and now > blocks:
        changed = _with(decided.document, "scheduler_config", max_num_seqs=blocks)
        yield Change("scheduler_config.max_num_seqs", now, blocks, f"--max-num-seqs {blocks}", changed)


def _compilation(document: Document) -> Iterator[Change]:
    written = document.model.compilation_config
    if written.mode != "VLLM_COMPILE":
        changed = _with(document, "compilation_config", mode="VLLM_COMPILE")
        text = "--compilation-config.mode VLLM_COMPILE"
        yield Change("compilation_config.mode", written.mode, "VLLM_COMPILE", text, changed)
    if not written.splitting_ops_contain_attention:
        changed = _with(document, "compilation_config", splitting_ops_contain_attention=True)
        text = "drop --compilation-config.splitting_ops"
        yield Change("compilation_config.splitting_ops_contain_attention", False, True, text, changed)


def _another_mode(decided: Decided) -> Iterator[Advice]:
    """The best mode that comes out as it is asked for."""
    requested = decided.decision.request.mode.name
    for mode in sorted(CUDAGraphMode, key=lambda mode: -mode.rank):
        changed = _with(decided.document, "compilation_config", cudagraph_mode=mode.name)
        text = f"--compilation-config.cudagraph_mode {mode.name}"
        change = Change("compilation_config.cudagraph_mode", requested, mode.name, text, changed)
        found = _tried(change, decided)
        if found and found.mode is mode:
            yield found
            return


def _with(document: Document, section: str, **fields: Any) -> Document:
    """The document with some fields of one of its sections changed."""
    model = document.model
    return document._replace(model=replace(model, **{section: replace(getattr(model, section), **fields)}))
