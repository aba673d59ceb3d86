"""The block to paste into a report of an error."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.compare.doctor_answer import DoctorAnswer, HereAnswer
from kvinspect.document.numbers import counted
from kvinspect.engine.align_answer import AlignAnswer, LayerAnswer
from kvinspect.report.captured import captured_comparison
from kvinspect.report.fold import fold_indices, title_of
from kvinspect.report.layer_names import folded
from kvinspect.report.page_parts import (
    Block,
    Column,
    Heading,
    Item,
    Page,
    Paragraph,
    Span,
    Spans,
    Table,
    cell,
    columns,
    spans,
)

GROUPS = columns(
    "group",
    Column("layers", "names"),
    "kind",
    "backend",
    Column("page bytes", leaves=1),
    Column("kernel block", leaves=2),
    Column("shape", "prose", leaves=3),
    Column("stride", "prose", leaves=4),
)


def page(answer: DoctorAnswer) -> Page:
    """Versions, platform, groups, what was decided, and where an engine did otherwise."""
    source = spans(Span("kvinspect doctor", "strong"), f" · {title_of(answer.align.setting.source)}")
    blocks: list[Block] = [Heading(_verdict(answer)), Paragraph(source), _facts(answer), _groups(answer.align)]
    blocks.extend(Paragraph(spans(line)) for line in _decided(answer))
    comparison = answer.align.captured
    if comparison is not None:
        comparison = comparison._replace(differences=answer.differences)
    if comparison is None:
        blocks.append(Paragraph(spans("Not captured from a running engine.")))
    else:
        blocks.extend(captured_comparison(comparison))
    blocks.extend(Item("!", spans(Span("finding", "bad"), f": {found['text']}.")) for found in answer.align.findings)
    return Page(tuple(blocks))


def _verdict(answer: DoctorAnswer) -> Spans:
    """Whether there is something to report, as a line."""
    compared, differences = answer.align.captured, len(answer.differences)
    if differences:
        words = counted(differences, "difference")
        return spans(Span(f"✗ {words}", "bad"), " between the captured cache and the computed one")
    if answer.align.refusal is not None:
        return spans(Span("✗ Refused at start-up", "bad"), f" ({answer.align.refusal.stage})")
    if answer.align.sound is not True:
        return spans(Span("✗ Unsound" if answer.align.sound is False else "? Not judged", "bad"))
    same = "computed as captured" if compared and not compared.why_not else "not compared with a running engine"
    return spans(Span("✓ Sound", "good"), f", {same}")


def here_page(answer: HereAnswer) -> Page:
    """The versions of what is installed here."""
    rows = tuple((cell(name), cell(value)) for name, value in answer.versions.items())
    hint = "kvinspect doctor FILE adds the groups of a document, captured or not, and the decisions about them."
    heading = Heading(spans(Span("kvinspect doctor", "strong")))
    return Page((heading, Table(columns("what", Column("value", "prose")), rows), Paragraph(spans(hint))))


def _facts(answer: DoctorAnswer) -> Table:
    setting, captured = answer.align.setting, answer.captured
    facts = {
        **answer.versions,
        "rules": f"vLLM {setting.release} ({setting.engine_source})",
        "model runner": setting.model_runner + (f" ({captured.model_runner})" if captured else ""),
        "platform": " ".join(word for word in (setting.platform, setting.device_capability) if word),
        "device": (captured.device_name or captured.device or "") if captured else "",
        "rank": _rank(answer),
        "layout": setting.kv_cache_layout or "",
        "cache dtype": answer.document.model.cache_dtype,
        "blocks": str(setting.num_blocks),
    }
    return Table(
        columns("what", Column("value", "prose")),
        tuple((cell(name), cell(value)) for name, value in facts.items() if value),
    )


def _rank(answer: DoctorAnswer) -> str:
    rank = answer.captured.rank if answer.captured else None
    if rank is None:
        return ""
    engine = f", engine {rank.data_parallel_rank} of {rank.data_parallel_size}" if rank.data_parallel_size > 1 else ""
    return f"{rank.rank} of {rank.world_size}{engine}"


def _groups(answer: AlignAnswer) -> Table:
    """The layers of the groups, those that look alike in one row."""
    rows: dict[tuple[object, ...], list[LayerAnswer]] = {}
    for layer in answer.layers:
        facts = layer.to_dict()
        view = (str(facts["shape"]), str(facts["stride"]))
        alike = (layer.backend, layer.spec_kind, layer.page_size_bytes, *view)
        rows.setdefault(alike, []).append(layer)
    return Table(GROUPS, tuple(_row(layers) for layers in rows.values()))


def _row(layers: Sequence[LayerAnswer]) -> tuple[tuple[tuple[Span, ...], ...], ...]:
    first = layers[0]
    parts = first.view.parts if first.view else ()
    groups = sorted({layer.kv_cache_group_id for layer in layers})
    return (
        cell(fold_indices(groups)),
        folded([layer.layer_name for layer in layers], len(groups)),
        cell(first.spec_kind.replace("_", " ")),
        cell(first.backend),
        cell(f"{first.page_size_bytes:,}"),
        cell(str(first.view.kernel_block_size) if first.view else "none"),
        cell(*(_numbers(part.view.shape) + f" {part.dtype}" for part in parts)) if parts else cell("no view"),
        cell(*(_numbers(part.view.stride) for part in parts)) if parts else cell("no view"),
    )


def _numbers(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _decided(answer: DoctorAnswer) -> list[str]:
    align, graphs = answer.align, answer.cg_support
    verdict = {True: "sound", False: "unsound", None: "not judged"}[align.sound]
    said = [f"Decision: {align.decision}, {verdict}."]
    if align.refusal is not None:
        refusal = align.refusal
        said.append(f"Refused at start-up ({refusal.stage}): {refusal.type}: {refusal.text}.")
    said += [f"Tensor {tensor.id}: {tensor.meaning}." for tensor in align.tensors if tensor.sound is False]
    mode = graphs.running.mode.name if graphs.running.mode else "refused"
    said.append(f"CUDA graphs: {graphs.requested_mode.name} requested, {mode} computed{_captured_mode(answer)}.")
    return said


def _captured_mode(answer: DoctorAnswer) -> str:
    found = answer.captured.cudagraph if answer.captured else None
    return f", {found.resolved_mode} captured" if found and found.resolved_mode else ""
