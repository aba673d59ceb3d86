"""KV104: different blocks meet in a way that no other rule names."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.document.numbers import counted
from kvinspect.engine.conflict import Conflict
from kvinspect.engine.wording.soundness import collision
from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import GROUPS
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Allocations on which blocks meet, with the counterexample at the entry of its first layer."""
    for kind in subject.kinds:
        tensor = kind[0]
        found = tensor.self_conflict or (tensor.conflict if tensor.decision != "skipped" else None)
        if found:
            alike = f" (and in {counted(len(kind) - 1, 'more allocation')} like it)" if len(kind) > 1 else ""
            text = f"unsound, and the engine starts: {collision(found)}{alike}; {_remedy(found)}"
            yield Found(subject.entry(found.layers[0]), text, sorted(set(found.layers)))
        elif subject.soundness and tensor.num_blocks is not None and tensor.num_blocks < subject.document.num_blocks:
            given = subject.document.num_blocks
            held = counted(tensor.num_blocks, "block")
            text = f"the tensor holds {held}, but the pool has {given}; the blocks beyond the tensor have no bytes"
            yield Found((*GROUPS[:1], "kv_cache_tensors", tensor.id), text, tensor.shared_by)


def _remedy(found: Conflict) -> str:
    first, second = found.layers
    if first == second:
        return "give each block of the layer its own bytes, one page per block"
    return "give the groups backends with the same layout"


RULE = Rule("KV104", "unsound-allocation", ERROR, "different block IDs address the same bytes", check)
