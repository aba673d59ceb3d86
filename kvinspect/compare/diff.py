"""`diff` from two questions to its answer."""

from __future__ import annotations

from typing import Any

from kvinspect.compare.changes import changed
from kvinspect.compare.diff_answer import DiffAnswer, LayerDiff
from kvinspect.compare.layer import Layer, layers_of
from kvinspect.compare.layers import DIFFERENT, MOVED, SAME, Outcome, Pairs, other_target
from kvinspect.question.question import Question

SETTING = ("release", "model_runner", "platform", "device_capability", "kv_cache_layout", "num_blocks")
GRAPHS = ("requested_mode", "min_cg_support", "min_cg_attn_backend")
CAPACITY = ("num_tokens", "max_concurrency", "max_model_len", "bytes_per_block")


def compare(a: Question, b: Question) -> DiffAnswer:
    """What changed from A to B, and whether B can read the blocks of A. Raises Intricate."""
    settings, refusals = (a.align.setting, b.align.setting), (a.align.refusal, b.align.refusal)
    changes = changed(_facts(a), _facts(b))
    old, new = layers_of(a), layers_of(b)
    if not (old and new):
        return DiffAnswer(*settings, changes=changes, refusals=refusals)
    pairs = Pairs()
    layers = tuple(_layer(layer, new[name], pairs) for name, layer in old.items() if name in new)
    gone = tuple(name for name in old if name not in new)
    added = tuple(name for name in new if name not in old)
    alone = [(old[one], new[other]) for one, other in zip(gone, added, strict=False)]
    renamed = tuple(_renamed(alone, pairs)) if len(gone) == len(added) else ()
    return DiffAnswer(*settings, layers, gone, added, renamed, changes, refusals)


def _layer(a: Layer, b: Layer, pairs: Pairs) -> LayerDiff:
    """A layer of both."""
    pair, elsewhere = pairs.of(a, b), other_target(a, b)
    found = Outcome(DIFFERENT, (elsewhere,)) if elsewhere else pair.outcome(a, b)
    return LayerDiff(a.name, found, pair.changed(a, b))


def _renamed(alone: list[tuple[Layer, Layer]], pairs: Pairs) -> list[tuple[str, str]]:
    """Layers of one side alone, paired in their order, where every pair has the same blocks."""
    alike = all(pairs.of(old, new).outcome(old, new).verdict in (SAME, MOVED) for old, new in alone)
    return [(old.name, new.name) for old, new in alone] if alike else []


def _facts(question: Question) -> dict[str, Any]:
    """What is compared of a cache as a whole."""
    aligned = question.align
    setting = aligned.setting.to_dict()
    found: dict[str, Any] = {key: setting[key] for key in SETTING}
    if question.can_be_planned:
        plan = question.plan.to_dict()
        found |= {key: plan[key] for key in CAPACITY}
    if question.about.has_cache:
        graphs = question.cg_support
        row = graphs.to_dict()
        found |= {"kernel_block_sizes": list(aligned.kernel_block_sizes)}
        found |= {"decision": aligned.decision, "sound": aligned.sound}
        found |= {key: row[key] for key in GRAPHS}
        found |= {"cudagraph_mode": graphs.running.mode.name if graphs.running.mode else None}
    return found
