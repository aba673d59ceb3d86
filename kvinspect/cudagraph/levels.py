"""What the backend of an attention group answers: its support under the facts of the document, and what is left open.

The source is `get_cudagraph_support` of the release's metadata builders, as the catalogue has it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kvinspect.backends.backend import Backend
from kvinspect.backends.conditions import OPEN, Facts, Rule, holds, outcomes
from kvinspect.backends.deployment_facts import DEFAULT_CAPABILITY
from kvinspect.cudagraph.support import AttentionCGSupport
from kvinspect.cudagraph.wording import condition_words, failing_words
from kvinspect.document.document import Document
from kvinspect.document.frozen import Frozen, frozen
from kvinspect.specs.kinds import LayerSpec

CANDIDATES: Mapping[str, Mapping[str, tuple[Any, ...]]] = {
    "capability": {"cuda": ("8.0", "8.9", "9.0", "10.0", "12.0"), "rocm": ("9.4", "9.5")},
    "q_heads_divisible": {},
    "trtllm_kernels": {},
    "unclamped_window": {},
}
"""The facts that a document may leave open, with the values that count on a platform; yes and no where none stand."""

ASSUMED = {"q_heads_divisible": True, "trtllm_kernels": True, "unclamped_window": False}


class Case(NamedTuple):
    """A support level and the open facts that it takes; the last case takes none."""

    support: AttentionCGSupport
    needs: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The case as JSON."""
        return {"if": dict(self.needs), "support": self.support.name}


class Level(NamedTuple):
    """What a backend answers, why, and each answer where it depends on something open."""

    support: AttentionCGSupport
    why: str
    cases: tuple[Case, ...] = ()


def deployment_facts(document: Document) -> dict[str, Any]:
    """What the document says of the deployment, OPEN where it is silent."""
    model, attention = document.model, document.model.attention_config
    capability: Any = model.device_capability
    if capability is None:
        capability = OPEN if DEFAULT_CAPABILITY[model.platform] else None
    return {
        "platform": model.platform,
        "capability": capability,
        "num_speculative_tokens": model.speculative_config.num_speculative_tokens,
        "use_trtllm_attention": "false" if attention.use_trtllm_attention is False else "unset",
        "use_non_causal": attention.use_non_causal,
        "decode_context_parallel_size": model.parallel_config.decode_context_parallel_size,
        "flash_attn_version": attention.flash_attn_version,
        "trtllm_kernels": OPEN,
        "unclamped_window": OPEN if _has_window(document) else False,
    }


def _has_window(document: Document) -> bool:
    """Whether a layer has a sliding window, at which a model may cut the ranges that attend bidirectionally, or not."""
    multimodal = document.model.multimodal
    if multimodal is not None and multimodal.mm_prefix_clamp_sliding_window:
        return False
    specs = [spec for group in document.groups for spec in (group.spec, *group.layer_specs.values())]
    return any(spec.sliding_window is not None for spec in specs)


def assumed(facts: Facts) -> dict[str, Any]:
    """The facts with a value for each open one: the platform's default device, TRT-LLM's kernels within reach."""
    defaults = {**ASSUMED, "capability": DEFAULT_CAPABILITY[facts["platform"]]}
    return {key: defaults[key] if value is OPEN else value for key, value in facts.items()}


def level_of(backend: Backend, spec: LayerSpec | None, heads: int | None, facts: Facts, catalogue: Rule) -> Level:
    """The support of a backend for layers of a spec; `heads` are the model's query heads, None where none is given."""
    if spec is not None and spec.chunked:
        why = f"chunked local attention wraps {backend.name}, and the wrapper supports no graphs"
        return Level(AttentionCGSupport.NEVER, why)
    answer = backend.entry.get("cudagraph_support")
    if not isinstance(answer, dict):
        return Level(AttentionCGSupport[str(answer)], "unconditional")
    known = {"q_heads_divisible": _divisible(heads, spec), **_spec_facts(spec), **facts}
    cases = cases_of(answer, known, catalogue)
    support, why = _certain(answer["rules"], _with_family(assumed(known)), catalogue)
    return Level(support, why, cases if len({case.support for case in cases}) > 1 else ())


def cases_of(answer: Any, facts: Facts, catalogue: Rule) -> tuple[Case, ...]:
    """Every answer that may come about under facts, in the order in which they count; a fact not among them is open."""
    if not isinstance(answer, dict):
        return (Case(AttentionCGSupport[answer], Frozen()),)
    facts = _with_family(facts)
    worlds = _worlds(answer["rules"], facts, catalogue)
    found = [(value, {**needs, **more}) for world, needs in worlds for value, more in outcomes(answer["rules"], world)]
    cases = [Case(AttentionCGSupport[value], frozen(needs)) for value, needs in found]
    while len(cases) > 1 and cases[-2].support is cases[-1].support:
        del cases[-2]
    return tuple(cases)


def _spec_facts(spec: LayerSpec | None) -> dict[str, Any]:
    """The facts of a spec on which support depends from 0.30 on."""
    if spec is None or not spec.is_attention:
        return {"kv_quant_mode": "NONE", "xqa_head_size": True}
    return {
        "kv_quant_mode": spec.kv_quant_mode,
        "xqa_head_size": 16 <= spec.head_size <= 256 and spec.head_size % 16 == 0,
    }


def _divisible(heads: int | None, spec: LayerSpec | None) -> Any:
    if spec is None or not spec.is_attention:
        return True
    return OPEN if heads is None else heads % spec.num_kv_heads == 0


def _with_family(facts: Facts) -> dict[str, Any]:
    capability = facts["capability"]
    family = int(capability.split(".")[0]) if isinstance(capability, str) else capability
    return {**facts, "capability_family": family}


def _flash_attn_rules(written: int | None, catalogue: Rule) -> Sequence[Rule]:
    """The FlashAttention version as rules: 3 runs on 9.x alone, wherever it is asked for."""
    if written is None:
        return [rule for rule in catalogue["flash_attn_version"] if not _asks_for_written(rule)]
    if written == 3:
        return [{"if": {"platform": "cuda", "capability_family": 9}, "value": 3}, {"value": None}]
    return [{"if": {"platform": "cuda"}, "value": written}, {"value": None}]


def _asks_for_written(rule: Rule) -> bool:
    return "attention_config.flash_attn_version" in rule.get("if", {})


def _worlds(rules: Sequence[Rule], facts: Facts, catalogue: Rule) -> Iterator[tuple[Facts, Mapping[str, Any]]]:
    """The facts with each FlashAttention version that may come about, and what that takes, if any rule asks for it."""
    if not any("flash_attn_version" in rule.get("if", {}) for rule in rules):
        yield facts, {}
        return
    for version, needs in outcomes(_flash_attn_rules(facts["flash_attn_version"], catalogue), facts):
        yield {**facts, "flash_attn_version": version}, needs


def _certain(rules: Sequence[Rule], facts: Facts, catalogue: Rule) -> tuple[AttentionCGSupport, str]:
    """The one answer under facts of which none is open, and the conditions that decided."""
    world, _ = next(_worlds(rules, facts, catalogue))
    failed: list[tuple[AttentionCGSupport, Mapping[str, Any]]] = []
    for rule in rules:
        wanted, support = rule.get("if", {}), AttentionCGSupport[rule["value"]]
        missing = {key: value for key, value in wanted.items() if not holds(value, world.get(key))}
        if not missing:
            return support, condition_words(wanted) or failing_words(failed, support, world)
        failed.append((support, missing))
    raise AssertionError("a catalogue's rules end with one that always holds")
