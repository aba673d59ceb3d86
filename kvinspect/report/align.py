"""The answer of `align` as a page: alike allocations and layers folded, the decision and its reason beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kvinspect.document.fold import fold_names
from kvinspect.document.numbers import counted
from kvinspect.engine.align_answer import AlignAnswer, LayerAnswer, TensorAnswer
from kvinspect.engine.axes import sizes
from kvinspect.report.fold import fold_indices, human_bytes, title_of
from kvinspect.report.not_counted import qualified
from kvinspect.report.page_parts import (
    Block,
    Column,
    Heading,
    Item,
    Page,
    Paragraph,
    Span,
    Spans,
    Style,
    Table,
    cell,
    columns,
    spans,
)

COLUMNS = columns(
    Column("layer", "names"),
    "backend",
    Column("block dim", leaves=3),
    Column("shape", "prose"),
    Column("stride", "prose", leaves=1),
    Column("decision", leaves=2),
)
DECISION_STYLE: dict[str, Style] = {
    "restrided": "changed",
    "page_aligned": "changed",
    "untouched": "changed",
    "skipped": "bad",
    "refused": "bad",
}

HARMLESS = ("unshared", "agree")
"""Decisions that say of themselves that nothing is wrong."""


class View(NamedTuple):
    """Which parts of an answer to show: every layer by itself, the reasons of each step."""

    all_layers: bool = False
    explain: bool = False


def page(answer: AlignAnswer, view: View) -> Page:
    """The page of one answer."""
    blocks: list[Block] = [
        Heading(qualified(_outcome(answer), answer.setting.not_modelled)),
        Paragraph(_title(answer)),
        *_device_notes(answer),
    ]
    if answer.refusal is not None and not answer.layers:
        refusal = answer.refusal
        blocks.append(Paragraph(spans(f"Why: {refusal.text}.")))
        blocks += [Item("→", spans(refusal.where))] if refusal.where else []
    layers = {layer.layer_name: layer for layer in answer.layers}
    on: dict[int | None, list[LayerAnswer]] = {}
    for layer in answer.layers:
        on.setdefault(layer.tensor_index, []).append(layer)
    for tensors in _alike(answer.tensors, on, view):
        blocks.extend(_allocation(tensors, [layer for tensor in tensors for layer in on.get(tensor.id, ())], view))
        blocks.extend(_collision(answer, tensors[0], layers))
    blocks.extend(_elsewhere(layers.values()))
    blocks.extend(Item("!", spans(Span("finding", "bad"), f": {found['text']}.")) for found in answer.findings)
    if answer.captured is not None:
        from kvinspect.report.captured import captured_comparison

        blocks.extend(captured_comparison(answer.captured))
    if view.explain:
        blocks.extend(_reasons(answer))
    return Page(tuple(blocks))


def _outcome(answer: AlignAnswer) -> Spans:
    """The verdict on the whole cache."""
    if answer.refusal is not None:
        return spans(Span("✗ Refused at start-up", "bad"), f" ({answer.refusal.stage}): {answer.refusal.type}")
    layers, changed = counted(len(answer.layers), "layer", ","), _changed(answer)
    if answer.sound:
        return spans(Span("✓ Sound", "good"), f": no two blocks of {layers} share bytes{changed}")
    if answer.sound is None:
        return spans(Span("? Not judged", "changed"), f": the views of {layers} cannot all be built")
    unsound = [tensor for tensor in answer.tensors if tensor.sound is False]
    what = "a view overlaps itself" if all(one.self_conflict for one in unsound) else "different blocks share bytes"
    count = counted(len(answer.tensors), "allocation", ",")
    where = f" in {len(unsound):,} of {count}" if len(answer.tensors) > 1 else ""
    return spans(Span("✗ Unsound", "bad"), f": {what}{where}{changed}")


def _changed(answer: AlignAnswer) -> str:
    """How many views the alignment has changed."""
    changed = sum(layer.decision in ("restrided", "page_aligned") for layer in answer.layers)
    return f"; vLLM restrides {counted(changed, 'view', ',')}" if changed else ""


def _title(answer: AlignAnswer) -> Spans:
    setting = answer.setting
    runner = f"model runner {setting.model_runner}" if setting.model_runner != "v2" else ""
    facts = [
        f"vLLM {setting.engine}",
        runner,
        setting.platform,
        setting.kv_cache_layout or "",
        counted(setting.num_blocks, "block", ","),
    ]
    return spans(
        Span(title_of(setting.source), "strong"),
        " · " + " · ".join(fact for fact in (*facts, _device(answer)) if fact),
    )


def _device(answer: AlignAnswer) -> str:
    device = answer.device
    if device.device == "none":
        return ""
    return f"tensors on {device.device} ({device.device_name}, {human_bytes(device.num_bytes)})"


def _device_notes(answer: AlignAnswer) -> list[Block]:
    """What is worth saying of the tensors: that there are fewer blocks, and what the experiment saw."""
    device, said = answer.device, []
    if device.scaled:
        said.append(
            f"Tensors of {device.num_blocks} of the {counted(device.of_blocks, 'block')}, because {device.reason}."
        )
    if device.read_back:
        seen = device.read_back
        rate = f"{human_bytes(seen.num_bytes)} at {human_bytes(int(seen.bytes_per_second))}/s"
        said.append(f"Read back on {device.device}: {counted(seen.num_pairs, 'pair')} of views as proved, {rate}.")
    return [Paragraph(spans(" ".join(said)))] if said else []


def _alike(
    tensors: Sequence[TensorAnswer], on: Mapping[int | None, Sequence[LayerAnswer]], view: View
) -> Iterable[list[TensorAnswer]]:
    """Allocations that differ only in the names of their layers, in where they begin and in their group, together."""
    if view.all_layers:
        return [[tensor] for tensor in tensors]
    groups: dict[object, list[TensorAnswer]] = {}
    for tensor in tensors:
        rows = tuple(_row_key(layer) for layer in on.get(tensor.id, ()))
        verdict = (tensor.decision, tensor.why, tensor.sound, tensor.sound_before, tensor.self_conflict is None)
        facts = (tensor.size, tensor.block_stride, tensor.layer_stride, len(tensor.shared_by), verdict)
        groups.setdefault((facts, rows), []).append(tensor)
    return groups.values()


def _row_key(layer: LayerAnswer) -> tuple[object, ...]:
    """What a layer's row says; where its view begins is said of the tensor."""
    views = tuple(
        (part.dtype, part.view.shape, part.view.stride)
        for view in (layer.view, layer.before)
        for part in (view.parts if view else ())
    )
    return (layer.backend, layer.spec_kind, layer.decision, views)


def _allocation(tensors: list[TensorAnswer], members: Sequence[LayerAnswer], view: View) -> list[Block]:
    """Title, table and reason of allocations that are alike."""
    if not members:
        return []
    first = tensors[0]
    blocks: list[Block] = [Heading(spans(_allocation_title(tensors, first)), _verdict(first))]
    rows: dict[tuple[object, ...], list[LayerAnswer]] = {}
    for layer in members:
        key = (layer.layer_name,) if view.all_layers else _row_key(layer)
        rows.setdefault(key, []).append(layer)
    blocks.append(Table(COLUMNS, tuple(_row(alike) for alike in rows.values())))
    blocks.append(Paragraph(spans(f"Why: {first.why}.", *_proof(first))))
    blocks.extend(Item("→", spans(where)) for where in first.where)
    return blocks


def _collision(answer: AlignAnswer, tensor: TensorAnswer, layers: Mapping[str, LayerAnswer]) -> list[Block]:
    """The counterexample as two bars, where there is one."""
    found = tensor.conflict or (tensor.conflict_before if tensor.sound is None else None)
    if found is None or not layers.keys() >= set(found.layers):
        return []
    from kvinspect.report.map.page import counterexample

    drawn = counterexample(answer, tensor)
    return [drawn] if drawn else []


def _allocation_title(tensors: list[TensorAnswer], first: TensorAnswer) -> str:
    word = "allocation" if len(tensors) == 1 else "allocations"
    alike = f" ({len(tensors)} alike)" if len(tensors) > 1 else ""
    each = " each" if len(tensors) > 1 else ""
    count = len(first.shared_by)
    shared = (
        "one layer"
        if count == 1
        else f"{counted(count, 'layer')} on it"
        if first.decision == "unshared"
        else f"shared by {counted(count, 'layer')}"
    )
    size = human_bytes(first.size)
    begins = sorted({tensor.offset for tensor in tensors})
    begin = str(begins[0]) if len(begins) == 1 else f"{begins[0]} … {begins[-1]}"
    if first.layer_stride is not None:
        apart = f"blocks {human_bytes(first.block_stride)} apart"
        if count > 1:
            apart = f"layers {human_bytes(first.layer_stride)} and {apart}"
        numbers = fold_indices([t.id for t in tensors])
        tensors_word = "tensor" if len(tensors) == 1 else "tensors"
        return f"{tensors_word} {numbers} of one allocation · {size} · from byte {begin}, {apart} · {shared}{each}"
    if first.block_stride:
        place = f"at byte {begin} of blocks of {human_bytes(first.block_stride)}"
        return f"slots {fold_indices([t.id for t in tensors])} of the packed allocation · {size} · {place} · {shared}"
    return f"{word} {fold_indices([t.id for t in tensors])}{alike} · {size}{each} · {shared}"


def _verdict(tensor: TensorAnswer) -> Spans:
    """The decision and what came of it; of an unsound tensor why, in place of a decision that sounds as if it were."""
    decision = Span(tensor.decision, DECISION_STYLE.get(tensor.decision, "plain"))
    if tensor.sound is not False:
        return spans(decision, *(" ", Span("✓ sound", "good")) if tensor.sound else ())
    why = "a view overlaps itself" if tensor.self_conflict else "different blocks share bytes"
    if tensor.decision in HARMLESS:
        return spans(Span(f"✗ unsound: {why}", "bad"))
    return spans(decision, " ", Span("✗ unsound" + (f": {why}" if tensor.self_conflict else ""), "bad"))


def _proof(tensor: TensorAnswer) -> tuple[str | Span, ...]:
    said, num_blocks = tensor.meaning, tensor.num_blocks
    if said:
        style: Style = "good" if tensor.sound else "bad"
        proved = _proved(num_blocks) if tensor.sound else ""
        return (" ", Span(said[0].upper() + said[1:] + "." + proved, style))
    return (_proved(num_blocks),) if tensor.sound else ()


def _proved(num_blocks: int | None) -> str:
    return " Proved for its only block." if num_blocks == 1 else f" Proved for all {num_blocks:,} blocks."


def _row(alike: list[LayerAnswer]) -> tuple[tuple[Spans, ...], ...]:
    layer = alike[0]
    names = cell(*fold_names([one.layer_name for one in alike]))
    decision = cell(Span(layer.decision, DECISION_STYLE.get(layer.decision, "plain")))
    if layer.view is None or layer.before is None:
        return (names, cell(layer.backend), cell("—"), cell("no view"), cell("—"), decision)
    pairs = list(zip(layer.before.parts, layer.view.parts, strict=True))
    states = len(pairs) > 1
    shapes = [sizes(after.axes, after.view.shape) + (f" {after.dtype}" if states else "") for _, after in pairs]
    strides = [_stride(before.view.stride, after.view.stride) for before, after in pairs]
    dim = "—" if layer.view.block_dim is None else str(layer.view.block_dim)
    return (names, cell(layer.backend), cell(dim), cell(*shapes), cell(*strides), decision)


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _stride(before: Sequence[int], after: Sequence[int]) -> Spans:
    if before == after:
        return spans(_numbers(after))
    parts: list[str | Span] = []
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        parts.append(", " if i else "")
        parts.append(str(new) if old == new else Span(f"{old} → {new}", "changed"))
    return spans(*parts)


def _elsewhere(layers: Iterable[LayerAnswer]) -> list[Block]:
    """Layers on no allocation of their own, in one line each."""
    lost = [layer.layer_name for layer in layers if layer.tensor_index is None]
    return [Paragraph(spans("On no allocation: " + ", ".join(fold_names(lost)) + "."))] if lost else []


def _reasons(answer: AlignAnswer) -> list[Block]:
    rows = tuple((cell(r.step), cell(r.text), cell(r.rule)) for r in answer.reasons)
    sources = tuple((cell(r.step), cell(", ".join(r.functions)), cell(r.releases), cell(r.rule)) for r in answer.rules)
    return [
        Heading(spans(Span("step by step", "strong"))),
        Table(columns("step", Column("what and why", "prose"), Column("rule", "prose", leaves=1)), rows),
        Heading(spans(Span("vLLM functions that the rules implement", "strong"))),
        Table(
            columns("step", Column("function", "prose"), "releases", Column("kvinspect", "prose", leaves=1)), sources
        ),
    ]
