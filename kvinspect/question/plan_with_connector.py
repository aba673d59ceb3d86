"""What a KV connector, offloading and the prefix cache make of a model's plan."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from kvinspect.connectors.configured import Transfer, check_states
from kvinspect.connectors.offloading import Offloaded, check_hashes, offloaded
from kvinspect.document.refusal import Refused
from kvinspect.models.specs_answer import SpecsAnswer
from kvinspect.planning.plan_answer import PlanAnswer
from kvinspect.planning.prefixes import PrefixBlocks, prefix_blocks
from kvinspect.question.question import Question


class Connected(NamedTuple):
    """The question about a cache and its plan, the blocks of its prefix cache, and what the host's memory holds."""

    question: Question
    plan: PlanAnswer
    prefixes: PrefixBlocks | None = None
    offloaded: Offloaded | None = None


def connected(ask: Callable[[str | None], Question], transfer: Transfer | None, stage: SpecsAnswer) -> Connected:
    """The plan of what is asked in the layout that the connector requires, as far as the backends read it.

    `ask` is the question in a layout. Raises DocumentError for a configuration of the connector with which the engine
    would not start. A worker makes its connector before it counts the states that its graphs need.
    """
    question = ask(None)
    layout = transfer.layout(stage.setting.shape.is_mla) if transfer else None
    if layout and question.setting.kv_cache_layout is None and _reads(question.start, layout):
        question = ask(layout)
    if question.plan.refusal is not None or not question.plan.workers:
        return Connected(question, question.start)
    return _blocks(question, transfer, stage)


def _reads(answer: PlanAnswer, layout: str) -> bool:
    """Whether the backends read a layout: up to 0.28 each by itself, later the one of the whole cache."""
    return (
        answer.layout is None
        or not answer.layout.candidates
        or layout in [one.name for one in answer.layout.candidates]
    )


def _blocks(question: Question, transfer: Transfer | None, stage: SpecsAnswer) -> Connected:
    answer = question.plan
    setting, worker = stage.setting, answer.workers[0]
    arguments, rules = setting.arguments, setting.rules
    hashes = setting.prefix_caching or transfer is not None
    size, shards = stage.specs.blocks.block_size, arguments.decode_context_parallel_size
    found = prefix_blocks(worker.groups, size, shards, hashes, rules.states_hash_by_mode)
    try:
        if transfer is not None:
            check_hashes(transfer, found.groups, found.hashed)
            states = any(layer.spec.holds_states for layer in stage.layers)
            check_states(transfer, states, arguments.variable("VLLM_SSM_CONV_STATE_LAYOUT"))
    except Refused as refused:
        return Connected(question, answer._replace(refusal=refused.refusal.within("connector")))
    if question.start.refusal is not None:
        return Connected(question, question.start)
    prefixes = found if setting.prefix_caching else None
    if transfer is None:
        return Connected(question, answer, prefixes)
    ranks = arguments.tensor_parallel_size * arguments.pipeline_parallel_size
    shared = setting.shape.is_mla and len(worker.groups) == 1 and arguments.pipeline_parallel_size == shards == 1
    together = rules.ranks_offload_together
    kept = offloaded(transfer, found.groups, worker.bytes_per_block, 1 if shared and together else ranks, together)
    return Connected(question, answer, prefixes, kept)
