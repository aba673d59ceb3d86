"""What the shipped catalogue and the installed vLLM say of a document."""

from __future__ import annotations

import json

from kvinspect.document.numbers import counted
from kvinspect.engine.catalogue_comparison import CatalogueComparison
from kvinspect.report.page_parts import Column, Heading, Page, Paragraph, Span, Spans, Table, cell, columns, spans


def page(answer: CatalogueComparison) -> Page:
    """A row for each difference, or the word that there is none."""
    who = f"   installed vLLM {answer.engine} compared with the shipped data of {answer.release}"
    title, rows = Heading(spans(Span(answer.source, "strong"), who)), answer.differences
    asked = ", ".join(answer.commands)
    if not rows:
        return Page((title, Paragraph(spans(f"{asked}: ", Span("no difference", "good")))))
    table = Table(
        columns("command", "where", Column("catalogue", "prose"), Column("installed", "prose")),
        tuple((cell(row.command), cell(row.path), _value(row.shipped), _value(row.installed)) for row in rows),
    )
    word = Span(counted(len(rows), "difference"), "bad")
    return Page((title, table, Paragraph(spans(f"{asked}: ", word, ". The installed vLLM is right."))))


def _value(value: object) -> tuple[Spans, ...]:
    return cell(json.dumps(value))
