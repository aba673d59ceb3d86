"""A cell of layer names: folded, and short where alike groups share a row."""

from __future__ import annotations

from collections.abc import Sequence

from kvinspect.document.fold import fold_names
from kvinspect.document.numbers import counted
from kvinspect.report.fold import fold_indices
from kvinspect.report.page_parts import Cell, Span, cell

MOST_RUNS = 4
"""Runs of numbers in a folded name that are shown as they are."""


def folded(layers: Sequence[str], groups: int = 1, all_layers: bool = False) -> Cell:
    """The names of layers, folded unless all are asked for; those of several groups behind their number."""
    if all_layers or groups == 1:
        return cell(*(layers if all_layers else fold_names(layers)))
    count = Span(f"{counted(len(layers), 'layer')} in {groups} groups", "dim")
    return cell(count, *map(elided, fold_names(layers)))


def elided(pattern: str) -> str:
    """A folded name whose numbers are at most a few: runs as ranges, the first two and the last.

    >>> elided("layers.{0,1,2,3,5,7,8,9,11,13}.attn")
    'layers.{0..3,5,…,13}.attn'
    """
    before, brace, rest = pattern.partition("{")
    numbers, _, after = rest.partition("}")
    if not brace or not all(part.isdecimal() for part in numbers.split(",")):
        return pattern
    runs = [run.replace("–", "..") for run in fold_indices([int(part) for part in numbers.split(",")]).split(", ")]
    few = runs if len(runs) <= MOST_RUNS else [*runs[:2], "…", runs[-1]]
    return f"{before}{{{','.join(few)}}}{after}"
