"""The KV cache groups of a plan as a table, those that differ in nothing but their layers in one row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvinspect.document.numbers import counted
from kvinspect.planning.plan_answer import PlanAnswer, PlannedGroup
from kvinspect.report.fold import fold_indices, human_bytes
from kvinspect.report.layer_names import folded
from kvinspect.report.page_parts import Cell, Column, Table, cell, columns
from kvinspect.specs.kinds import LayerSpec


def groups_table(answer: PlanAnswer, all_layers: bool) -> Table:
    """A row for each kind of group: its layers, its backend, and what a request of the greatest length takes of it."""
    heads = columns(
        "group",
        "kind",
        Column("layers", "number"),
        "backend",
        Column("block", "number", leaves=2),
        Column("KiB/token", "number", leaves=1),
        f"a {answer.deployment.max_model_len:,}-token request",
        Column("page bytes", "number", leaves=4),
        Column("unused", leaves=3),
        Column("layer names", "names", leaves=0 if all_layers else 5),
    )
    return Table(heads, tuple(_row(alike, answer, all_layers) for alike in _alike(answer, all_layers)))


def _alike(answer: PlanAnswer, all_layers: bool) -> Iterable[list[PlannedGroup]]:
    """Groups that differ in nothing but their layers, together."""
    alike: dict[object, list[PlannedGroup]] = {}
    for group in answer.groups:
        facts = (group.spec, group.backends, group.page_size_bytes, group.blocks_per_request, group.grows)
        alike.setdefault(group.id if all_layers else facts, []).append(group)
    return alike.values()


def _row(alike: Sequence[PlannedGroup], answer: PlanAnswer, all_layers: bool) -> tuple[Cell, ...]:
    group, layers = alike[0], [name for group in alike for name in group.layer_names]
    whole = answer.workers[0].bytes_per_block
    return (
        cell(fold_indices([group.id for group in alike])),
        cell(kind_of(group)),
        cell(f"{len(layers):,}"),
        cell(*(group.backends or ("",))),
        cell(f"{group.spec.block_size:,}"),
        cell(_per_token(alike, whole)),
        cell(held(alike, whole)),
        cell(f"{group.page_size_bytes:,}"),
        cell(*_unused(alike, whole)),
        folded(layers, len(alike), all_layers),
    )


def _per_token(alike: Sequence[PlannedGroup], whole: int) -> str:
    """KiB that each further token takes; a window and a state take none."""
    if not alike[0].grows:
        return "—"
    return f"{len(alike) * whole / alike[0].spec.block_size / 1024:,.3g}"


def held(alike: Sequence[PlannedGroup], whole: int) -> str:
    """What a request takes at most: `6 × 65 blocks, 1.2 GiB`."""
    group, times = alike[0], f"{len(alike)} × " if len(alike) > 1 else ""
    size = human_bytes(len(alike) * group.blocks_per_request * whole)
    bound = "" if group.grows else "≤ "
    return f"{bound}{times}{counted(group.blocks_per_request, 'block', ',')}, {size}"


def _unused(alike: Sequence[PlannedGroup], whole: int) -> list[str]:
    """What a block of a group leaves empty, and its share of the block."""
    sizes = sorted({group.padding_bytes for group in alike})
    empty = "–".join(human_bytes(size) for size in dict.fromkeys((sizes[0], sizes[-1])))
    return [f"{empty}, {sizes[-1] / whole:.1%}"] if sizes[-1] else ["0"]


def kind_of(group: PlannedGroup) -> str:
    """The kind of a group's spec in words, with its window."""
    kinds = dict.fromkeys(_named(spec) for spec in group.spec.each)
    return " and ".join(kinds) + (", pages of several sizes" if group.spec.each_its_own else "")


def _named(spec: LayerSpec) -> str:
    window = getattr(spec, "sliding_window", None)
    name = spec.reported_kind.replace("_", " ").replace("mla ", "MLA ")
    return f"{name} {window:,}" if window and "window" in name else name
