"""What is said of every tensor on the one allocation: who shares its bytes, and whether block IDs keep apart."""

from __future__ import annotations

from collections.abc import Mapping

from kvinspect.document.document import GROUPS, Tensor
from kvinspect.document.frozen import Frozen
from kvinspect.document.numbers import counted
from kvinspect.document.problem import Path
from kvinspect.engine.align_answer import TensorAnswer
from kvinspect.engine.conflict import Conflict, pattern, self_conflict
from kvinspect.engine.overlay import conflicts, touching, views_of
from kvinspect.engine.release import Given
from kvinspect.engine.stages import Built, Soundness, Views
from kvinspect.engine.wording.soundness import sentence


def soundness_of(given: Given, built: Built, views: Views) -> Soundness:
    """Return the tensors of a cache whose views have been built, judged together: all lie on the same bytes."""
    tensor_of = {layer: tensor.id for tensor in built.tensors for layer in tensor.shared_by}
    patterns = {layer: pattern(view, given.num_blocks) for layer, view in views.of.items()}
    overlaid = views_of(patterns, tensor_of)
    found = conflicts(overlaid)
    packed = built.layout.standard.block_outermost
    touched = set() if packed else touching(overlaid)
    home = {layer: group.id for group in built.attention.groups for layer in group.layer_names}
    tensors = []
    for tensor in built.tensors:
        decision = "packed" if packed else "agree" if tensor.id in touched else "unshared"
        own = self_conflict(patterns, tensor.shared_by) if tensor.id in found else None
        where = _where(given, found.get(tensor.id), home)
        said = (decision, _why(built, tensor, decision))
        tensors.append(_answer(given.num_blocks, said, tensor, (found.get(tensor.id), own), where))
    return Soundness(tuple((tensor,) for tensor in tensors), views.of, Frozen(), None)


def _answer(
    num_blocks: int,
    said: tuple[str, str],
    tensor: Tensor,
    found: tuple[Conflict | None, Conflict | None],
    where: tuple[str, ...],
) -> TensorAnswer:
    """The answer about a tensor; `said` is the decision, and why."""
    decision, why = said
    conflict, own = found
    answer = TensorAnswer(
        id=tensor.id,
        size=tensor.size,
        shared_by=tensor.shared_by,
        block_dims=(0,),
        decision=decision,
        why=why,
        sound_before=conflict is None,
        conflict_before=conflict,
        sound=conflict is None,
        conflict=conflict,
        self_conflict=own,
        offset=tensor.offset,
        block_stride=tensor.block_stride,
        layer_stride=tensor.layer_stride,
        num_blocks=num_blocks,
        where=where,
    )
    return answer._replace(meaning=sentence(answer))


def _why(built: Built, tensor: Tensor, decision: str) -> str:
    if decision == "packed":
        size = counted(tensor.block_stride, "byte")
        return f"{built.layout.name} has the blocks outermost: a block of {size} holds every layer's page"
    if decision == "agree":
        return f"groups overlay each other from byte 0 on, and all are laid out as {built.layout.name}"
    return "no layer of another tensor lies on its bytes"


def _where(given: Given, conflict: Conflict | None, home: Mapping[str, int]) -> tuple[str, ...]:
    """The entries that give the layers of a conflict their backends; `home`: layer → group."""
    uses = given.document.uses
    paths: dict[Path, None] = {}
    for layer in conflict.layers if conflict else ():
        paths[uses[layer].path if layer in uses else (*GROUPS, home[layer])] = None
    return tuple(given.document.where(path) for path in paths)
