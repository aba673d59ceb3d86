"""The answer of `diff` as a page: what changed in the whole, then layers alike, each with verdict and reason."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kvinspect.compare.changes import Changes
from kvinspect.compare.diff_answer import DiffAnswer, LayerDiff
from kvinspect.document.fold import fold_names
from kvinspect.document.numbers import counted
from kvinspect.engine.align_answer import AnswerHeader
from kvinspect.report.fold import title_of
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

VERDICT_STYLE: dict[str, Style] = {"same": "good", "moved": "changed", "different": "bad", "unknown": "changed"}
VERDICT_WORDS = {
    "num_blocks": "blocks",
    "num_kernel_blocks": "kernel blocks",
    "same": "✓ same bytes",
    "moved": "✓ same bytes, elsewhere",
    "different": "✗ other bytes",
    "unknown": "? cannot be judged",
}
OUTCOME: dict[bool | None, Span] = {
    True: Span("✓ Compatible", "good"),
    False: Span("✗ Not compatible", "bad"),
    None: Span("? Cannot be judged", "changed"),
}
MEANING: dict[bool | None, str] = {
    True: ": either side can read the blocks that the other has written",
    False: ": one side cannot read the blocks that the other has written",
    None: "",
}
WORDS = {
    "num_blocks": "blocks",
    "num_kernel_blocks": "kernel blocks",
    "block_size": "tokens per block",
    "format": "an element",
    "page_size_bytes": "page bytes",
    "storage_offset": "offset",
    "spec_kind": "kind",
    "kv_cache_group_id": "group",
    "tensor_index": "allocation",
    "kernel_block_size": "kernel block",
    "min_cg_attn_backend": "limiting backend",
    "min_cg_support": "lowest CUDA graph support",
    "requested_mode": "requested CUDA graph mode",
    "cudagraph_mode": "CUDA graph mode",
}
"""Key of a change → what it is called here, where that is not the key with blanks."""


def _verdicts(answer: DiffAnswer) -> Iterable[Block]:
    """The verdict, of a connector above that of the bytes."""
    found = answer.bytes_compatible
    bytes_ = spans(OUTCOME[found], MEANING[found])
    if answer.connector is None:
        yield Heading(qualified(bytes_, answer.not_modelled))
        return
    name, taken = answer.connector.connector, answer.connector.compatible
    yield Heading(qualified(spans(OUTCOME[taken], TRANSFER[taken].format(name)), answer.not_modelled))
    if answer.connector.why:
        yield Paragraph(spans("; ".join(answer.connector.why) + "."))
    yield Paragraph(spans("Bytes: ", *qualified(bytes_, answer.not_modelled)))


TRANSFER: dict[bool | None, str] = {
    True: ": {} transfers blocks from A (prefill) to B (decode)",
    False: ": {} does not transfer blocks from A (prefill) to B (decode)",
    None: ": whether {} transfers blocks from A (prefill) to B (decode)",
}


def page(answer: DiffAnswer, all_layers: bool = False) -> Page:
    """The page of one answer."""
    blocks: list[Block] = [
        *_verdicts(answer),
        Paragraph(_side("A", answer.a, answer.words[0])),
        Paragraph(_side("B", answer.b, answer.words[1])),
        *_refusals(answer),
    ]
    if answer.changes:
        blocks.append(_table(answer.changes))
    if not any(answer.refusals) and not (answer.layers or answer.only_in_a or answer.only_in_b):
        blocks.append(Paragraph(spans("One side has no layer with a KV cache, so there is nothing to compare.")))
    for alike in _alike(answer.layers, all_layers):
        blocks += _layers(alike)
    return Page((*blocks, *_lost(answer)))


def _side(name: str, setting: AnswerHeader, words: str) -> Spans:
    facts = [
        f"vLLM {setting.engine}",
        setting.platform,
        setting.kv_cache_layout or "",
        counted(setting.num_blocks, "block", ","),
    ]
    return spans(
        f"{name}  ", Span(words or title_of(setting.source), "strong"), " · " + " · ".join(filter(None, facts))
    )


def _refusals(answer: DiffAnswer) -> Iterable[Block]:
    for name, refusal in zip("AB", answer.refusals, strict=True):
        if refusal is not None:
            text = f" at start-up ({refusal.stage}): {refusal.text}, so it has no cache to compare."
            yield Item("!", spans(f"{name} is ", Span("refused", "bad"), text))


PLACES = ("tensor_index", "storage_offset")
"""Changes that layers alike do not have in common: each lies somewhere else."""


def _alike(layers: Iterable[LayerDiff], all_layers: bool) -> Iterable[list[LayerDiff]]:
    """Layers of which the same is to be said, wherever they lie, together."""
    groups: dict[object, list[LayerDiff]] = {}
    for layer in layers:
        groups.setdefault(layer.layer_name if all_layers else _said(layer), []).append(layer)
    return groups.values()


def _said(layer: LayerDiff) -> tuple[object, ...]:
    """What is to be said of a layer, wherever it lies."""
    found = layer.outcome
    shown = tuple((key, pair) for key, pair in layer.changes.items() if key not in PLACES)
    lies = tuple(one[1:] for one in found.lies or ())
    return (found.verdict, found.first_byte, lies, () if lies else found.why, shown)


def _layers(alike: list[LayerDiff]) -> list[Block]:
    first = alike[0]
    names = ", ".join(fold_names([layer.layer_name for layer in alike]))
    count = f" ({counted(len(alike), 'layer')})" if len(alike) > 1 else ""
    verdict = Span(VERDICT_WORDS[first.verdict], VERDICT_STYLE[first.verdict])
    blocks: list[Block] = [Heading(spans(Span(names, "strong"), count), spans(verdict))]
    changes = {key: pair for key, pair in first.changes.items() if key not in PLACES or len(alike) == 1}
    if changes:
        blocks.append(_table(changes))
    why = _common([layer.outcome.why for layer in alike])
    if why:
        blocks.append(Paragraph(spans("Why: " + "; ".join(why) + ".")))
    return blocks


def _common(reasons: list[tuple[str, ...]]) -> list[str]:
    """What is to be said of all; that each lies elsewhere is said once."""
    common = [text for text in reasons[0] if all(text in others for others in reasons)]
    if any(len(texts) > len(common) for texts in reasons):
        common.insert(0, "block 0 begins at another byte of the allocation in A than in B")
    return common


def _table(changes: Changes) -> Table:
    return Table(
        columns("what", Column("A", "prose"), Column("B", "prose")),
        tuple(_row(key, a, b) for key, (a, b) in changes.items()),
    )


def _row(key: str, a: Any, b: Any) -> tuple[tuple[Spans, ...], ...]:
    return (cell(WORDS.get(key, key.replace("_", " "))), cell(*_lines(a)), cell(*_lines(b)))


def _lines(value: Any) -> list[str]:
    """A value as people read it, states line by line."""
    if isinstance(value, (list, tuple)):
        if any(isinstance(item, Mapping) for item in value):
            return [f"{_numbers(state['shape'])} {state['dtype']}" for state in value]
        return [_numbers(value)]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return ["—" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)]


def _numbers(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _lost(answer: DiffAnswer) -> Iterable[Block]:
    """Layers of one side alone, which the other has no blocks for."""
    for name, layers in (("A", answer.only_in_a), ("B", answer.only_in_b)):
        if layers:
            text = f" ({counted(len(layers), 'layer')})" if len(layers) > 1 else ""
            yield Item("!", spans(Span(f"only in {name}", "bad"), f"{text}: " + ", ".join(fold_names(layers)) + "."))
    if answer.renamed:
        yield Paragraph(spans("These have the same blocks in the same order, so only their names differ."))
