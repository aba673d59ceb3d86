"""`diff` from two sides to its answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kvinspect.compare.answer import DiffAnswer, LayerDiff, changed
from kvinspect.compare.layers import DIFFERENT, MOVED, SAME, Known, Outcome, other_target, outcome
from kvinspect.compare.side import Layer, Side

SETTING = ("release", "model_runner", "platform", "device_capability", "kv_cache_layout", "num_blocks")
GRAPHS = ("requested_mode", "min_cg_support", "min_cg_attn_backend")
CAPACITY = ("num_tokens", "max_concurrency", "max_model_len", "bytes_per_block")


def compare(a: Side, b: Side) -> DiffAnswer:
    """What changed from A to B, and whether B can read the blocks of A. Raises Intricate."""
    refusals = (a.refusal, b.refusal)
    changes = changed(_facts(a), _facts(b))
    if not (a.layers and b.layers):
        return DiffAnswer(a.setting, b.setting, changes=changes, refusals=refusals)
    known: Known = {}
    layers = tuple(_layer(layer, b.layers[name], known) for name, layer in a.layers.items() if name in b.layers)
    gone = tuple(name for name in a.layers if name not in b.layers)
    new = tuple(name for name in b.layers if name not in a.layers)
    renamed = tuple(_renamed(a, b, zip(gone, new, strict=True), known)) if len(gone) == len(new) else ()
    return DiffAnswer(a.setting, b.setting, layers, gone, new, renamed, changes, refusals)


def _layer(a: Layer, b: Layer, known: Known) -> LayerDiff:
    """A layer of both."""
    elsewhere = other_target(a, b)
    found = Outcome(DIFFERENT, (elsewhere,)) if elsewhere else outcome(a, b, known)
    return LayerDiff(a.name, found, changed(a.facts(), b.facts()))


def _renamed(a: Side, b: Side, pairs: Iterable[tuple[str, str]], known: Known) -> list[tuple[str, str]]:
    """Layers of one side alone, paired in their order, where every pair has the same blocks."""
    pairs = list(pairs)
    alike = all(outcome(a.layers[old], b.layers[new], known).verdict in (SAME, MOVED) for old, new in pairs)
    return pairs if alike else []


def _facts(side: Side) -> dict[str, Any]:
    """What is compared of a cache as a whole."""
    setting = side.setting.to_dict()
    found: dict[str, Any] = {key: setting[key] for key in SETTING}
    if side.plan is not None:
        found |= {key: side.plan.to_dict()[key] for key in CAPACITY}
    if side.aligned is not None:
        aligned = side.aligned
        found |= {"kernel_block_sizes": list(aligned.kernel_block_sizes)}
        found |= {"decision": aligned.decision, "sound": aligned.sound}
    if side.graphs is not None:
        graphs = side.graphs
        row = graphs.to_dict()
        found |= {key: row[key] for key in GRAPHS}
        found |= {"cudagraph_mode": graphs.running.mode.name if graphs.running.mode else None}
    return found
