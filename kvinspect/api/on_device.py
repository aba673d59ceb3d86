"""An answer of `align` on a device: its tensors, torch's word on every view, and the experiment beside the proof."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

from kvinspect.device.choose import NONE, NOT_REQUESTED, DeviceChoice, UnknownDevice, choose
from kvinspect.engine.align_answer import AlignAnswer, DeviceAnswer, LayerAnswer, ReadBack
from kvinspect.engine.conflict import Pattern, first_meeting, pattern
from kvinspect.engine.overlay import conflicts, views_of
from kvinspect.engine.reshape import LayerView

if TYPE_CHECKING:
    from kvinspect.device.allocate import Materialised
    from kvinspect.device.read_back import Experiment, PlacedLayer, Progress

CPU_BYTES = 2**30
"""What `verify` takes of the host's memory where nobody chose a device."""

Rerun = Callable[[int], AlignAnswer]
"""The same question with another number of blocks."""


class InternalError(Exception):
    """Two ways of working out the same thing disagree: an error of kvinspect's."""


class ChosenDevice(NamedTuple):
    """A device, and how many bytes may be taken of it."""

    choice: DeviceChoice
    limit: int | None = None


def device_for(word: str, verify: bool) -> ChosenDevice:
    """The device for a word. The experiment needs one, if only the host.

    Raises UnknownDevice for a word that is no device, DeviceError where it is not there.
    """
    if verify and word == "meta":
        raise UnknownDevice("meta tensors hold nothing that could be read back")
    chosen = NOT_REQUESTED if word == NONE else choose(word)
    if verify and chosen.name == NONE:
        return ChosenDevice(choose("cpu"), CPU_BYTES)
    return ChosenDevice(chosen)


def made_on(
    device: ChosenDevice, answer: AlignAnswer, rerun: Rerun, verify: bool, progress: Progress | None
) -> DeviceAnswer:
    """What a device made of an answer, fewer blocks of it where memory is short.

    Raises DeviceError where not even one block fits, InternalError where torch or the experiment disagrees with us.
    """
    chosen, limit = device
    if chosen.name == NONE or not answer.layers:
        return DeviceAnswer("none", "", chosen.reason or "the engine refuses before it makes a view")
    from kvinspect.device.allocate import blocks_that_fit

    wanted = answer.setting.num_blocks
    fit = blocks_that_fit(chosen.name, wanted, sum(answer.allocations.values()), limit)
    if fit != wanted:
        answer = rerun(fit)
    made, views = _materialised(chosen.name, answer)
    reason = "" if fit == wanted else _shortage(limit)
    found = DeviceAnswer(chosen.name, made.device_name, reason, fit, wanted, made.num_bytes, views)
    return found._replace(read_back=_read_back(answer, made, progress)) if verify else found


def _shortage(limit: int | None) -> str:
    if limit is None:
        return "memory is short"
    return f"no more than {limit >> 20} MiB of the host are taken where no device is chosen"


def _materialised(device: str, answer: AlignAnswer) -> tuple[Materialised, int]:
    """The tensors of an answer as aligned, and those before the alignment under another label where they differ."""
    from kvinspect.device.allocate import ViewMismatch, Wanted, materialise

    wanted = [
        Wanted(label, layer.allocation.key, part.dtype, part.steps, part.view)
        for layer in _own(answer.layers)
        for label, view in _views(layer).items()
        for part in view.parts
        if layer.allocation
    ]
    try:
        return materialise(device, answer.allocations, wanted), len(wanted)
    except ViewMismatch as error:
        raise InternalError(str(error)) from None


def _own(layers: Iterable[LayerAnswer]) -> list[LayerAnswer]:
    return [layer for layer in layers if layer.view is not None and layer.decision != "alias"]


BEFORE = " (before the alignment)"


def _views(layer: LayerAnswer) -> dict[str, LayerView]:
    """Label → view of a layer: as aligned, and as it was before where that is another."""
    assert layer.view
    assert layer.before
    views = {layer.layer_name: layer.view}
    return views if layer.before == layer.view else {**views, layer.layer_name + BEFORE: layer.before}


def _read_back(answer: AlignAnswer, made: Materialised, progress: Progress | None) -> ReadBack:
    """The experiment on all allocations, after the alignment and before it, and whether it agrees with the proof."""
    from kvinspect.device.read_back import verify

    num_blocks = answer.setting.num_blocks
    after = _by_allocation(answer, "")
    before = {key: views for key, views in _by_allocation(answer, BEFORE).items() if views != after[key]}
    plans = [_Plan(views, made, num_blocks) for views in (after, before) if views]
    seen = [verify(plan.subjects, num_blocks, progress) for plan in plans]
    for plan, experiment in zip(plans, seen, strict=True):
        _compare(plan.expected, experiment)
    return ReadBack(
        num_pairs=sum(one.num_pairs for one in seen),
        num_bytes=sum(one.num_bytes for one in seen),
        seconds=sum(one.seconds for one in seen),
    )


def _by_allocation(answer: AlignAnswer, suffix: str) -> dict[int, dict[str, LayerView]]:
    """Allocation → label → view; of layers that see the same bytes the first speaks for all."""
    found: dict[int, dict[LayerView, str]] = {}
    for layer in _own(answer.layers):
        views = _views(layer)
        label = layer.layer_name + suffix if layer.layer_name + suffix in views else layer.layer_name
        if layer.allocation and views[label].block_dim is not None:
            seen = found.setdefault(layer.allocation.key, {})
            seen.setdefault(views[label], label)
    return {key: {label: view for view, label in seen.items()} for key, seen in found.items()}


class _Plan:
    """What to write and read on each allocation, and which pairs are expected to clash."""

    def __init__(self, allocations: Mapping[int, Mapping[str, LayerView]], made: Materialised, num_blocks: int) -> None:
        self.subjects = {key: _subjects(views, made) for key, views in allocations.items()}
        self.expected: set[frozenset[str]] = set()
        for views in allocations.values():
            self.expected |= _clashes(views, num_blocks)


def _clashes(views: Mapping[str, LayerView], num_blocks: int) -> set[frozenset[str]]:
    """What the experiment will see on an allocation, by the proof."""
    from kvinspect.device.read_back import COMPARED, SOME
    from kvinspect.device.torn import BLOCKS

    patterns = {label: pattern(view, num_blocks) for label, view in views.items()}
    torn = {label for label, own in patterns.items() if first_meeting(own, own) is not None}
    whole = {label: own for label, own in patterns.items() if label not in torn}
    found = {frozenset([label]) for label in torn}
    if conflicts(views_of(whole, dict.fromkeys(whole, 0))):
        found |= _meeting(dict(list(whole.items())[:COMPARED]))
        found |= {SOME} if len(whole) > COMPARED else set()
    if torn:
        few = {label: pattern(view, min(num_blocks, BLOCKS)) for label, view in list(views.items())[:COMPARED]}
        found |= {pair for pair in _meeting(few) if pair & torn}
    return found


def _meeting(patterns: Mapping[str, Pattern]) -> set[frozenset[str]]:
    """The pairs of which different blocks share bytes."""
    pairs = combinations(patterns, 2)
    return {frozenset(pair) for pair in pairs if first_meeting(*(patterns[label] for label in pair)) is not None}


def _subjects(views: Mapping[str, LayerView], made: Materialised) -> list[PlacedLayer]:
    from kvinspect.device.read_back import PlacedLayer
    from kvinspect.device.torn import Piece

    return [
        PlacedLayer(
            label, tuple(Piece(tensor, view.block_dim or 0, view.kernel_blocks) for tensor in made.views[label])
        )
        for label, view in views.items()
    ]


def _compare(expected: set[frozenset[str]], experiment: Experiment) -> None:
    wrong = expected ^ experiment.clashes
    if wrong:
        pair = " and ".join(sorted(min(wrong, key=sorted))) or "some views"
        said = (
            "the proof finds a clash that the experiment does not"
            if min(wrong, key=sorted) in expected
            else ("the experiment finds a clash that the proof does not")
        )
        raise InternalError(f"{said}: {pair}")
