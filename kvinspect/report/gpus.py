"""The GPUs that kvinspect knows, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.hardware.gpu import Gpu
from kvinspect.report.page_parts import Column, Heading, Page, Paragraph, Span, Table, cell, columns, spans

COLUMNS = columns(
    "GPU", "memory", "platform", "capability", Column("also", leaves=1), Column("memory from", "prose", leaves=2)
)


def page(gpus: Sequence[Gpu]) -> Page:
    """A table of GPUs."""
    heading = Heading(spans(Span("GPUs", "strong")))
    hint = "--gpu 2xH100 also sets --tensor-parallel-size 2. --gpu local queries the driver."
    return Page((heading, Table(COLUMNS, tuple(_row(gpu) for gpu in gpus)), Paragraph(spans(hint))))


def _row(gpu: Gpu) -> tuple[tuple[tuple[Span, ...], ...], ...]:
    memory = [f"{gpu.gib:.2f} GiB", "shared with the host"] if gpu.unified else [f"{gpu.gib:.2f} GiB"]
    return (
        cell(Span(gpu.name, "strong")),
        cell(*memory),
        cell(gpu.platform),
        cell(gpu.gfx or gpu.capability),
        cell(*(gpu.aliases or ("",))),
        cell(gpu.source),
    )
