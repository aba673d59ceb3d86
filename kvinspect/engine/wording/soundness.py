"""What soundness before and after the alignment means for an allocation, in a sentence."""

from __future__ import annotations

from kvinspect.document.numbers import counted
from kvinspect.engine.align_answer import TensorAnswer
from kvinspect.engine.conflict import Conflict

SLIPS = ("KeyError", "IndexError")
"""Exceptions that no check of the engine's raises on purpose."""


def sentence(tensor: TensorAnswer) -> str:
    """`unsound before …, sound after`, `the refusal is justified: …` and so on; "" where there is nothing to say."""
    before, after = tensor.sound_before, tensor.sound
    if tensor.self_conflict is not None:
        return f"unsound, because a view overlaps itself: {collision(tensor.self_conflict)}"
    if tensor.decision == "refused":
        if before is None:
            return ""
        if before:
            return "without the alignment no two blocks would share bytes"
        slip = tensor.refusal is not None and tensor.refusal.type in SLIPS
        judgement = "as the views are before that" if slip else "the refusal is justified"
        return f"{judgement}: {collision(tensor.conflict_before)}"
    if after is None:
        return "unknown whether different blocks share bytes, because a backend's shape has no block dim"
    if after:
        return "" if before else f"unsound before the alignment ({collision(tensor.conflict_before)}), sound after it"
    deed = {
        "skipped": "the engine skips a view",
        "restrided": "the engine restrides, and it is still unsound",
        "untouched": "the engine does nothing",
        "packed": "the engine leaves packed allocations alone",
    }.get(tensor.decision, "the engine sees nothing to align")
    return f"{deed}, and {collision(tensor.conflict)}"


def collision(conflict: Conflict | None) -> str:
    """The counterexample in words."""
    if conflict is None:
        return ""
    (first, second), (i, j) = conflict.layers, conflict.block_ids
    shared = counted(conflict.num_bytes, "byte", ",")
    return f"block {i} of {first} and block {j} of {second} share {shared} from byte {conflict.byte:,} on"
