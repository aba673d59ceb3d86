"""A picture as a page: its title, the bars, and why the engine decided so."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.engine.answer import AlignAnswer, TensorAnswer
from kvinspect.engine.verdict import sentence
from kvinspect.report.fold import title_of
from kvinspect.report.map.scene import Scene, scene
from kvinspect.report.map.terminal import needed_widths, picture
from kvinspect.report.page import Heading, Page, Paragraph, Picture, Span, spans

OFF_TERMINAL = 120
"""Columns of a picture in a pipe or a file."""


def page(answer: AlignAnswer, tensor: TensorAnswer, layers: Sequence[str], blocks: int, width: int | None) -> Page:
    """The page of one allocation, with as many of the `blocks` as the width has room for."""
    columns = width or OFF_TERMINAL
    drawing = _fitting(answer, tensor, layers, blocks, columns)
    verdict = sentence(tensor)
    why = f"Why: {tensor.why}." + (f" {verdict[0].upper()}{verdict[1:]}." if verdict else "")
    title = spans(Span(title_of(answer.setting.source), "strong"), f"   {drawing.title}")
    return Page((Heading(title), picture(drawing, columns), Paragraph(spans(why))))


def _fitting(answer: AlignAnswer, tensor: TensorAnswer, layers: Sequence[str], blocks: int, columns: int) -> Scene:
    for few in range(blocks, 0, -1):
        drawing = scene(answer, tensor, layers, few)
        if sum(needed_widths(drawing)) < columns:
            return drawing
    return scene(answer, tensor, layers, 1)


def counterexample(answer: AlignAnswer, tensor: TensorAnswer) -> Picture | None:
    """The two layers and the two blocks of an allocation's conflict as two bars; None where there is no conflict."""
    conflict = tensor.conflict or (tensor.conflict_before if tensor.sound is None else None)
    if conflict is None:
        return None
    drawing = scene(answer, tensor, conflict.layers, only=sorted(set(conflict.block_ids)))
    return picture(drawing._replace(panels=drawing.panels[-1:]), 0, legend=False)
