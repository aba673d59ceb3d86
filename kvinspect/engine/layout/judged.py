"""What is said of every tensor on the one allocation: who shares its bytes, and whether block IDs keep apart."""

from __future__ import annotations

from collections.abc import Mapping

from kvinspect.document.document import GROUPS, Tensor
from kvinspect.document.numbers import counted
from kvinspect.document.problem import Path
from kvinspect.engine.answer import TensorAnswer
from kvinspect.engine.cache import Cache
from kvinspect.engine.judge import Judged
from kvinspect.engine.layout.layouts import KVCacheLayout
from kvinspect.engine.overlay import conflicts, touching, views_of
from kvinspect.engine.soundness import Conflict, pattern, self_conflict


def judge(cache: Cache) -> Judged:
    """The tensors of a cache whose views have been built, judged together: all lie on the same bytes."""
    tensor_of = {layer: tensor.id for tensor in cache.tensors for layer in tensor.shared_by}
    patterns = {layer: pattern(view, cache.num_blocks) for layer, view in cache.views.items()}
    overlaid = views_of(patterns, tensor_of)
    found = conflicts(overlaid)
    packed = KVCacheLayout[cache.layout].block_outermost
    touched = set() if packed else touching(overlaid)
    home = {layer: group.id for group in cache.groups for layer in group.layer_names}
    tensors = []
    for tensor in cache.tensors:
        decision = "packed" if packed else "agree" if tensor.id in touched else "unshared"
        own = self_conflict(patterns, tensor.shared_by) if tensor.id in found else None
        where = _where(cache, found.get(tensor.id), home)
        tensors.append(_answer(cache, tensor, decision, (found.get(tensor.id), own), where))
    return Judged(tuple((tensor,) for tensor in tensors), cache.views, {}, None)


def _answer(
    cache: Cache,
    tensor: Tensor,
    decision: str,
    found: tuple[Conflict | None, Conflict | None],
    where: tuple[str, ...],
) -> TensorAnswer:
    conflict, own = found
    return TensorAnswer(
        id=tensor.id,
        size=tensor.size,
        shared_by=tensor.shared_by,
        block_dims=(0,),
        decision=decision,
        why=_why(cache, tensor, decision),
        sound_before=conflict is None,
        conflict_before=conflict,
        sound=conflict is None,
        conflict=conflict,
        self_conflict=own,
        offset=tensor.offset,
        block_stride=tensor.block_stride,
        layer_stride=tensor.layer_stride,
        num_blocks=cache.num_blocks,
        where=where,
    )


def _why(cache: Cache, tensor: Tensor, decision: str) -> str:
    if decision == "packed":
        size = counted(tensor.block_stride, "byte")
        return f"{cache.layout} has the blocks outermost: a block of {size} holds every layer's page"
    if decision == "agree":
        return f"groups overlay each other from byte 0 on, and all are laid out as {cache.layout}"
    return "no layer of another tensor lies on its bytes"


def _where(cache: Cache, conflict: Conflict | None, home: Mapping[str, int]) -> tuple[str, ...]:
    """The entries that give the layers of a conflict their backends; `home`: layer → group."""
    uses = cache.document.uses
    paths: dict[Path, None] = {}
    for layer in conflict.layers if conflict else ():
        paths[uses[layer].path if layer in uses else (*GROUPS, home[layer])] = None
    return tuple(cache.document.where(path) for path in paths)
