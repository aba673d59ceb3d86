"""A picture as a page: its title, the bars, and why the engine decided so."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from kvinspect.document.numbers import counted
from kvinspect.engine.align_answer import AlignAnswer, TensorAnswer
from kvinspect.report.fold import title_of
from kvinspect.report.map.scene import Scene, drawn, scene
from kvinspect.report.map.terminal import needed_widths, picture
from kvinspect.report.not_counted import qualified
from kvinspect.report.page_parts import Heading, Page, Paragraph, Picture, Span, Spans, spans

OFF_TERMINAL = 120
"""Columns of a picture in a pipe or a file."""


def page(answer: AlignAnswer, tensor: TensorAnswer, layers: Sequence[str], blocks: int, width: int | None) -> Page:
    """The page of one allocation, with as many of the `blocks` as the width has room for."""
    columns = width or OFF_TERMINAL
    chosen = drawn(answer, tensor, layers)
    drawing, count = _fitting(answer, tensor, chosen, blocks, columns)
    title = spans(Span(title_of(answer.setting.source), "strong"), f" · {drawing.title}")
    more = "all" if len(chosen) == len(layers) else f"{len(chosen):,}"
    fit = f"{count:,} of {counted(len(layers), 'layer', ',')}, as many as fit"
    left = f"{fit}; --layer picks others, and -o FILE.svg draws {more}."
    note = [Paragraph(spans(Span(left, "dim")))] if count < len(layers) else []
    return Page(
        (
            Heading(verdict(answer, tensor)),
            Paragraph(title),
            picture(drawing, columns),
            *note,
            Paragraph(spans(f"Why: {reason(tensor)}")),
        )
    )


def verdict(answer: AlignAnswer, tensor: TensorAnswer) -> Spans:
    """Whether blocks of an allocation share bytes, as a line, with what is left out of the answer."""
    return qualified(_verdict(tensor), answer.setting.not_modelled)


def _verdict(tensor: TensorAnswer) -> Spans:
    if tensor.sound is None:
        return spans(Span("? Not judged", "changed"), ": the views of this allocation cannot all be built")
    if not tensor.sound:
        what = "a view overlaps itself" if tensor.self_conflict else "different blocks share bytes"
        return spans(Span("✗ Unsound", "bad"), f": {what}")
    changed = tensor.decision in ("restrided", "page_aligned")
    return spans(Span("✓ Sound", "good"), f"{' after the alignment' if changed else ''}: no two blocks share bytes")


def reason(tensor: TensorAnswer) -> str:
    """Why the engine decided so about an allocation, and what soundness means for it, as sentences."""
    verdict = tensor.meaning
    return f"{tensor.why}." + (f" {verdict[0].upper()}{verdict[1:]}." if verdict else "")


def _fitting(
    answer: AlignAnswer, tensor: TensorAnswer, layers: Sequence[str], blocks: int, columns: int
) -> tuple[Scene, int]:
    """The drawing with as many blocks, then as many layers, as the width has room for; how many layers it has."""
    for few in range(blocks, 0, -1):
        drawing = scene(answer, tensor, layers, few)
        if sum(needed_widths(drawing)) < columns:
            return drawing, len(layers)
    conflict = tensor.conflict or tensor.conflict_before
    first = [layer for layer in layers if conflict and layer in conflict.layers]
    wanted = [*first, *(layer for layer in layers if layer not in first)]

    def of(count: int) -> Scene:
        kept = set(wanted[:count])
        return scene(answer, tensor, [layer for layer in layers if layer in kept], 1)

    least = max(len(first), 1)
    too_many = bisect_left(range(least + 1, len(wanted)), True, key=lambda n: sum(needed_widths(of(n))) >= columns)
    return of(least + too_many), least + too_many


def counterexample(answer: AlignAnswer, tensor: TensorAnswer) -> Picture | None:
    """The two layers and the two blocks of an allocation's conflict as two bars; None where there is no conflict."""
    conflict = tensor.conflict or (tensor.conflict_before if tensor.sound is None else None)
    if conflict is None:
        return None
    drawing = scene(answer, tensor, conflict.layers, only=sorted(set(conflict.block_ids)))
    return picture(drawing._replace(panels=drawing.panels[-1:]), 0, legend=False)
