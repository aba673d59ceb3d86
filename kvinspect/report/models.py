"""The bundled models, as a page."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.document.numbers import counted
from kvinspect.report.page_parts import Heading, Item, Page, Paragraph, Span, spans


def page(names: Sequence[str]) -> Page:
    """A list of names."""
    heading = Heading(spans(Span("Models", "strong"), " that need no network"), spans(counted(len(names), "model")))
    items = (Item("•", spans(name)) for name in names)
    hint = "kvinspect plan NAME accepts these names, a folder, a config.json, or any id of the Hugging Face Hub."
    return Page((heading, *items, Paragraph(spans(hint))))
