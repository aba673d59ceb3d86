"""What a plan that fits says at its end: which CUDA graph mode results, and the command that starts the server."""

from __future__ import annotations

from collections.abc import Iterable

from kvinspect.cudagraph.cg_support_answer import CGSupportAnswer
from kvinspect.report.cg_support import open_facts, verdict
from kvinspect.report.page_parts import Block, Paragraph, Picture, spans


def graphs_in_short(answer: CGSupportAnswer) -> Iterable[Block]:
    """The resulting mode, the last step down with its reason, and unknown facts on which the mode depends."""
    steps, error = answer.running.steps, answer.running.error
    why = error.text if error else steps[-1].why if steps and not answer.as_requested else ""
    yield Paragraph(spans("CUDA graphs: ", *verdict(answer), f": {why}." if why else "."))
    yield from open_facts(answer.open)


def start_line(line: str) -> tuple[Block, ...]:
    """The command, unwrapped so that it can be copied; nothing where there is none."""
    return (Paragraph(spans("To start it:")), Picture((spans(line),))) if line else ()
