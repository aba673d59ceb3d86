"""A captured cache held against the computed one: every user's engine is a test of our rules, and of the engine.

Neither side is taken to be right: a difference is an error of kvinspect's, or something that the engine does in this
case and its rules do not say.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kvinspect.document.captured import CapturedEntry, CapturedViewEntry
from kvinspect.document.document import Document
from kvinspect.document.numbers import counted
from kvinspect.document.words import DTYPE_BYTES
from kvinspect.engine.align_answer import AlignAnswer
from kvinspect.engine.captured_comparison import CapturedComparison, Difference
from kvinspect.engine.reshape import LayerView, Part

NOTHING = "nothing"


def compare(document: Document, answer: AlignAnswer) -> CapturedComparison | None:
    """What a captured document's engine made otherwise than the answer says; None where nothing was captured.

    Under the rules of another release, or for another number of blocks, the two are not compared.
    """
    captured = document.model.captured
    if captured is None:
        return None
    why_not = _why_not(document, answer, captured)
    if why_not:
        return CapturedComparison(captured.vllm, why_not=why_not)
    return CapturedComparison(captured.vllm, len(captured.layers), tuple(_together(_differences(answer, captured))))


def _why_not(document: Document, answer: AlignAnswer, captured: CapturedEntry) -> str:
    setting = answer.setting
    if _family(setting.release) != _family(captured.vllm):
        return f"the rules are those of {setting.release}"
    if setting.num_blocks != document.num_blocks:
        return f"the answer is for {counted(setting.num_blocks, 'block')}, and the engine has {document.num_blocks}"
    return ""


def _family(version: str) -> tuple[str, ...]:
    return tuple(version.split(".")[:2])


def _differences(answer: AlignAnswer, captured: CapturedEntry) -> Iterator[Difference]:
    if answer.refusal is not None and not answer.layers:
        yield Difference("start-up", f"refused ({answer.refusal.text})", "it started")
        return
    sizes = captured.kernel_block_sizes
    if sizes is not None and tuple(sizes) != answer.kernel_block_sizes:
        yield Difference("kernel block sizes", _numbers(answer.kernel_block_sizes), _numbers(sizes))
    for layer in answer.layers:
        for what, ours, theirs in _views(layer.view, captured.layers.get(layer.layer_name, [])):
            if ours != theirs:
                yield Difference(what, ours, theirs, (layer.layer_name,))
    for name in sorted(captured.layers.keys() - {layer.layer_name for layer in answer.layers}):
        yield Difference("tensor", NOTHING, _count(captured.layers[name]), (name,))
    yield from _storages(answer, captured)


def _together(found: Iterable[Difference]) -> Iterator[Difference]:
    """Differences that are alike but for the layer, as one."""
    layers: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for one in found:
        layers[one[:3]].extend(one.layer_names)
    return (Difference(*words, tuple(names)) for words, names in layers.items())


def _views(view: LayerView | None, captured: Sequence[CapturedViewEntry]) -> Iterator[tuple[str, str, str]]:
    """(what, as computed, as captured) of a layer's tensors."""
    parts = view.parts if view is not None else ()
    if not parts or not captured:
        yield "tensor", _count(parts), _count(captured)
    elif len(parts) == len(captured):
        for i, (part, real) in enumerate(zip(parts, captured, strict=True)):
            name = f"state {i}, " if len(parts) > 1 else ""
            yield f"{name}dtype", part.dtype, real.dtype
            yield f"{name}shape", _numbers(part.view.shape), _numbers(real.shape)
            yield f"{name}stride", _numbers(part.view.stride), _numbers(real.stride)
            yield f"{name}first byte", str(_first_byte(part)), str(real.byte)
    else:
        yield "first byte", str(_first_byte(parts[0])), str(captured[0].byte)
        yield "bytes from block to block", _pitch(parts[0]), str(sum(captured[0].stride[:1]) * captured[0].item_size)


def _count(views: Sequence[object]) -> str:
    return NOTHING if not views else "one" if len(views) == 1 else counted(len(views), "state")


def _first_byte(part: Part) -> int:
    return part.view.storage_offset * DTYPE_BYTES[part.dtype]


def _pitch(part: Part) -> str:
    return str(part.view.stride[0] * DTYPE_BYTES[part.dtype])


def _numbers(values: Iterable[int]) -> str:
    return "[" + ", ".join(map(str, values)) + "]"


def _storages(answer: AlignAnswer, captured: CapturedEntry) -> Iterator[Difference]:
    """Layers that lie on one allocation and not on one storage, or the other way round; sizes of storages."""
    ours = {layer.layer_name: layer.allocation for layer in answer.layers if layer.allocation}
    theirs = {name: views[0].storage for name, views in captured.layers.items() if views and name in ours}
    mine = _mates({name: ours[name].key for name in theirs})
    real = _mates(theirs)
    for name, number in theirs.items():
        if mine[name] != real[name]:
            yield Difference(f"layers on the storage of {name}", ", ".join(mine[name]), ", ".join(real[name]))
        elif number < len(captured.storages) and ours[name].size != captured.storages[number]:
            yield Difference("bytes of the storage", str(ours[name].size), str(captured.storages[number]), (name,))


def _mates(where: Mapping[str, int]) -> dict[str, tuple[str, ...]]:
    """Layer → all that lie where it lies."""
    on: defaultdict[int, list[str]] = defaultdict(list)
    for name, number in where.items():
        on[number].append(name)
    return {name: tuple(sorted(on[number])) for name, number in where.items()}
