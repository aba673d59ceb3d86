"""The differences between a computed cache and the captured one, in words."""

from __future__ import annotations

from kvinspect.engine.captured_comparison import CapturedComparison
from kvinspect.report.page_parts import Block, Item, Paragraph, Span, spans


def captured_comparison(found: CapturedComparison) -> list[Block]:
    """Whether the engine made what was computed, and each difference."""
    if found.why_not:
        return [Paragraph(spans(f"Not compared with the captured cache of vLLM {found.vllm}: {found.why_not}."))]
    layers = f"{found.num_layers} layer{'' if found.num_layers == 1 else 's'}"
    if not found.differences:
        said = Span("✓ as captured", "good")
        return [Paragraph(spans(said, f": the computed views of {layers} are those of vLLM {found.vllm}."))]
    count = len(found.differences)
    words = f"{count} difference{'' if count == 1 else 's'}"
    text = f" between the computed views and those of vLLM {found.vllm}; please report it with `kvinspect doctor`."
    blocks: list[Block] = [Paragraph(spans(Span(f"✗ {words}", "bad"), text))]
    return blocks + [Item("!", spans(Span("difference", "bad"), f": {one.text}.")) for one in found.differences]
