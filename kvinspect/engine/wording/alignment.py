"""The reason of each decision in a sentence, the same for tables, findings and `--explain`."""

from __future__ import annotations

from collections.abc import Mapping

from kvinspect.document.document import Tensor
from kvinspect.document.numbers import counted
from kvinspect.engine.align import RESTRIDED, SKIPPED, TensorOutcome
from kvinspect.engine.reshape import LayerView

PAGE_BY_PAGE = "vLLM builds the K/V-first views page by page because state-space pages lie on the same bytes"
ORDER = {0: "the blocks first (dim 0)", 1: "K/V before the blocks (dim 1)"}


def tensor(
    tensor: Tensor,
    decision: str,
    backends: Mapping[str, str],
    outcome: TensorOutcome,
    views: Mapping[str, LayerView],
    page_aligned: bool,
) -> str:
    """Why the engine decides so about an allocation; `backends` names the backend of each layer with a view.

    `page_aligned`: whether K/V-first views on it are built page by page.
    """
    if decision == "refused" and outcome.refusal is not None:
        return f"vLLM stops at start-up with {outcome.refusal.type}: {outcome.refusal.text}"
    if decision == "packed" and not tensor.block_stride:
        return "packed: all layers lie on one allocation, block by block, because the KV connector requires it"
    if decision == "packed":
        stride = counted(tensor.block_stride, "byte")
        return f"packed: block_stride is {stride}, and the alignment leaves packed allocations alone"
    if decision == "unshared":
        return _alone(backends) + (f"; {PAGE_BY_PAGE}" if page_aligned else "")
    placed = _placed(backends, views)
    if decision == "agree":
        return f"all attention views on it agree: {placed}"
    together = ", on the same bytes" if len(backends) > 1 else ""
    return f"{placed}{together}; {outcome.deed or _deed(decision, outcome)}"


def _alone(backends: Mapping[str, str]) -> str:
    if len(backends) < 2:
        return "no two layers lie on this allocation, so there is nothing to align"
    return "at most one attention layer lies on this allocation, and the alignment compares attention views only"


def _placed(backends: Mapping[str, str], views: Mapping[str, LayerView]) -> str:
    """Which backend puts its blocks where."""
    found: dict[int | None, list[str]] = {}
    for layer, name in backends.items():
        names = found.setdefault(views[layer].block_dim, [])
        if name not in names:
            names.append(name)
    parts = []
    for dim, names in sorted(found.items(), key=lambda item: -1 if item[0] is None else item[0]):
        verb = "puts" if len(names) == 1 else "put"
        parts.append(
            f"{' and '.join(names)} {verb} {ORDER.get(dim or 0) if dim in ORDER else f'the blocks in dim {dim}'}"
        )
    return ", ".join(parts)


def _deed(decision: str, outcome: TensorOutcome) -> str:
    moved = [layer for layer, said in outcome.decisions.items() if said == RESTRIDED]
    left = [layer for layer, said in outcome.decisions.items() if said == SKIPPED]
    if decision == "restrided" and any(outcome.views[layer].block_dim == 1 for layer in moved):
        return "next to state-space layers, vLLM restrides the K/V-first views onto blocks-first storage"
    if decision == "restrided":
        return "vLLM keeps the K/V-first storage and restrides the blocks-first views"
    if decision == "skipped":
        stride = list(outcome.views[left[0]].parts[0].view.stride)
        return f"vLLM warns once about a non-NHD view (strides {stride} do not end row-major) and leaves it as it is"
    if decision == "page_aligned":
        return PAGE_BY_PAGE
    return "vLLM aligns only dim 0 with dim 1, and does nothing here"
