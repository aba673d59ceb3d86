"""What a picture of an allocation shows: a bar a view, a cell a block, on an axis of the bytes that matter.

Of many blocks the first few and the last are shown, and those of a counterexample. Bytes of other blocks are left out
of the axis.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import NamedTuple

from kvinspect.document.fold import fold_names
from kvinspect.document.limits import MAX_BARS
from kvinspect.document.numbers import counted
from kvinspect.engine.align_answer import AlignAnswer, LayerAnswer, TensorAnswer
from kvinspect.engine.conflict import Conflict, pattern
from kvinspect.engine.reshape import LayerView
from kvinspect.geometry.runs import BlockBytes, block_bytes
from kvinspect.report.fold import human_bytes

FEW = 3
"""Blocks shown from the front where there are many."""

ALL = 6
"""Blocks up to which all are shown."""

MANY_RUNS = 4
"""Runs of a block's part up to which each is drawn; more are drawn as one scattered cell."""


class Cell(NamedTuple):
    """The bytes [start, end) of a block through a view; `part` is K, V, a state, or "" for all of the block."""

    block: int
    part: str
    start: int
    end: int
    scattered: bool
    meets: tuple[str, ...]
    """Other blocks on these bytes, in words; empty where there are none."""

    @property
    def label(self) -> str:
        """The block ID with its part, marked where another block lies on the same bytes."""
        return f"{self.part}{self.block}{'!' if self.meets else ''}"


class Bar(NamedTuple):
    """One view, or several layers that have the same."""

    names: tuple[str, ...]
    backend: str
    cells: tuple[Cell, ...]


class Panel(NamedTuple):
    """The bars at one moment."""

    moment: str
    bars: tuple[Bar, ...]


class Column(NamedTuple):
    """A stretch of the axis between two bytes; hidden where only blocks that are not shown lie on it."""

    start: int
    end: int
    hidden: bool


class Scene(NamedTuple):
    """A picture: its axis, and a panel for each moment that is worth one."""

    title: str
    size: int
    num_blocks: int
    shown: tuple[int, ...]
    columns: tuple[Column, ...]
    panels: tuple[Panel, ...]
    conflict: Conflict | None

    def span(self, cell: Cell) -> tuple[int, int]:
        """The columns [first, last) that a cell covers."""
        first, end = (bisect_left(self.columns, at, key=attrgetter("start")) for at in (cell.start, cell.end))
        return (first, end) if first < end else (0, 0)


def scene(
    answer: AlignAnswer,
    tensor: TensorAnswer,
    layers: Sequence[str] | None = None,
    few: int = FEW,
    only: Sequence[int] | None = None,
) -> Scene:
    """The picture of a tensor's allocation: of all layers on it or of some, of a few blocks or of `only` those."""
    wanted = None if layers is None else set(layers)
    every = [row for row in _on_allocation(answer, tensor) if wanted is None or row.layer_name in wanted]
    conflict = tensor.conflict or tensor.conflict_before
    rows = _few(every, conflict)
    num_blocks = answer.setting.num_blocks
    shown = tuple(only) if only is not None else _shown(num_blocks, few, conflict)
    after = {row.layer_name: row.view for row in rows if row.view}
    before = {row.layer_name: row.before for row in rows if row.before}
    moments = [("", after)] if before == after else [("before the alignment", before), ("after the alignment", after)]
    panels = tuple(Panel(moment, _bars(rows, views, num_blocks, shown)) for moment, views in moments)
    columns = _axis([cell for panel in panels for bar in panel.bars for cell in bar.cells], tensor.size)
    title = _title(tensor, num_blocks) + (
        f" · {len(rows):,} of {counted(len(every), 'layer', ',')}" if rows != every else ""
    )
    return Scene(title, tensor.size, num_blocks, shown, columns, panels, conflict)


def drawn(answer: AlignAnswer, tensor: TensorAnswer, layers: Sequence[str]) -> list[str]:
    """Those of some layers that a picture of all of them has."""
    wanted = set(layers)
    rows = [row for row in _on_allocation(answer, tensor) if row.layer_name in wanted]
    return [row.layer_name for row in _few(rows, tensor.conflict or tensor.conflict_before)]


def _few(rows: list[LayerAnswer], conflict: Conflict | None) -> list[LayerAnswer]:
    """The layers of at most MAX_BARS views: those of the conflict, the first ones and the last."""
    bars: dict[object, list[LayerAnswer]] = {}
    for row in rows:
        bars.setdefault((row.backend, row.view, row.before), []).append(row)
    if len(bars) <= MAX_BARS:
        return rows
    at_odds = set(conflict.layers if conflict else ())
    first = [key for key, members in bars.items() if any(row.layer_name in at_odds for row in members)]
    keys = dict.fromkeys([*first, list(bars)[-1], *bars])
    kept = {row.layer_name for key in list(keys)[:MAX_BARS] for row in bars[key]}
    return [row for row in rows if row.layer_name in kept]


def matching(answer: AlignAnswer, tensor: TensorAnswer, pattern: str | None) -> list[str]:
    """The layers with views on a tensor's bytes whose names match a shell pattern; all of them without one."""
    names = [row.layer_name for row in _on_allocation(answer, tensor)]
    return [name for name in names if pattern is None or fnmatchcase(name, pattern)]


def _title(tensor: TensorAnswer, num_blocks: int) -> str:
    if tensor.layer_stride is not None:
        blocks = f"{counted(num_blocks, 'block', ',')} {human_bytes(tensor.block_stride)} apart"
        return f"one allocation of {human_bytes(tensor.size)} · {blocks}"
    if tensor.block_stride:
        return f"packed allocation · {counted(num_blocks, 'block', ',')} of {human_bytes(tensor.block_stride)}"
    return f"allocation {tensor.id} · {counted(num_blocks, 'block', ',')} · {human_bytes(tensor.size)}"


def _on_allocation(answer: AlignAnswer, tensor: TensorAnswer) -> list[LayerAnswer]:
    """The layers with views of their own on the tensor's bytes: of a packed one, on those of all packed tensors."""
    own = [row for row in answer.layers if row.view is not None and row.decision != "alias" and row.allocation]
    key = next((row.allocation.key for row in own if row.tensor_index == tensor.id and row.allocation), None)
    on_it = [row for row in own if row.allocation and row.allocation.key == key]
    return [row for row in on_it if row.view and row.view.block_dim is not None]


def _shown(num_blocks: int, few: int, conflict: Conflict | None) -> tuple[int, ...]:
    if num_blocks <= max(ALL, few + 1):
        return tuple(range(num_blocks))
    blocks = {*range(few), num_blocks - 1, *(conflict.block_ids if conflict else ())}
    return tuple(sorted(blocks))


def _bars(
    rows: Sequence[LayerAnswer], views: Mapping[str, LayerView], num_blocks: int, shown: Sequence[int]
) -> tuple[Bar, ...]:
    alike: dict[tuple[str, LayerView], list[str]] = {}
    for row in rows:
        alike.setdefault((row.backend, views[row.layer_name]), []).append(row.layer_name)
    others = {names[0]: pattern(view, num_blocks) for (_, view), names in alike.items()}
    return tuple(
        Bar(tuple(fold_names(names)), backend, tuple(_cells(view, num_blocks, shown, names[0], others)))
        for (backend, view), names in alike.items()
    )


def _cells(
    view: LayerView, num_blocks: int, shown: Sequence[int], me: str, patterns: Mapping[str, tuple[BlockBytes, ...]]
) -> Iterable[Cell]:
    cells = []
    for part, covered in _parts(view, num_blocks):
        for block in shown:
            if block >= covered.num_blocks:
                continue
            runs = covered.runs(block)
            scattered = len(runs) > MANY_RUNS
            for start, end in [(runs[0][0], runs[-1][1])] if scattered else runs:
                meets = () if scattered else tuple(_meets(block, start, end, me, patterns))
                cells.append(Cell(block, part, start, end, scattered, meets))
    return sorted(cells, key=lambda cell: (cell.start, cell.end))


def _parts(view: LayerView, num_blocks: int) -> list[tuple[str, BlockBytes]]:
    """The keys, the values, the states of a view apart, as far as it has dims for them."""
    dim = view.block_dim or 0
    if len(view.parts) > 1:
        states = enumerate(view.parts)
        return [(f"S{i}:", block_bytes(part.view, dim, num_blocks, view.kernel_blocks)) for i, part in states]
    whole = view.parts[0].view
    if view.kv_dim is None:
        return [("", block_bytes(whole, dim, num_blocks, view.kernel_blocks))]
    halves = [(name, whole.slice(view.kv_dim, i, i + 1)) for i, name in enumerate("KV")]
    return [(name, block_bytes(half, dim, num_blocks, view.kernel_blocks)) for name, half in halves]


def _meets(block: int, start: int, end: int, me: str, patterns: Mapping[str, tuple[BlockBytes, ...]]) -> Iterable[str]:
    """Other blocks than `block` on the bytes, of other layers and of the same, in words."""
    for layer, covered in patterns.items():
        for touched in (blocks for one in covered for blocks in one.blocks_on(start, end)):
            strange = [b for b in (touched[0], touched[-1]) if b != block] or [b for b in touched[:3] if b != block]
            if strange:
                yield f"block {strange[0]} of {layer}"
                break


def _axis(cells: Sequence[Cell], size: int) -> tuple[Column, ...]:
    """The stretches between the bounds of all cells; what lies under no cell is hidden."""
    bounds = sorted({0, size, *(c.start for c in cells), *(c.end for c in cells)})
    begins = [0] * (len(bounds) + 1)
    for cell in cells:
        if not cell.scattered:
            begins[bisect_left(bounds, cell.start)] += 1
            begins[bisect_left(bounds, cell.end)] -= 1
    covered = accumulate(begins)
    return tuple(Column(*pair, hidden=not count) for pair, count in zip(pairwise(bounds), covered, strict=False))
