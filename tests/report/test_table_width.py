"""Tables at every width."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kvinspect.report import terminal
from kvinspect.report.layer_names import elided
from kvinspect.report.page_parts import Column, Page, Table, cell, columns
from kvinspect.report.table_width import fitted, total

GROUPS = columns("group", Column("layers", "names"), Column("page bytes", leaves=1), Column("unused", leaves=2), "held")
LAYERS = ("language_model.model.layers.{0..61}.self_attn.attn", "language_model.model.layers.62.self_attn.attn")
GROUPED = Table(GROUPS, tuple((cell("0"), cell(name), cell("131,072"), cell("0"), cell("8,192")) for name in LAYERS))

words = st.text("abc .{}0123456789,層", max_size=90)
heads = st.builds(Column, st.just("head"), st.sampled_from(["fact", "names", "prose"]), st.integers(0, 3))


@st.composite
def tables(draw):
    """A table of up to six columns, of which one at least never leaves."""
    heads_drawn = [Column("first"), *draw(st.lists(heads, max_size=5))]
    named = tuple(head._replace(name=f"{head.name}{i}") for i, head in enumerate(heads_drawn))
    row = st.tuples(*(st.builds(cell, words) for _ in named))
    return Table(named, tuple(draw(st.lists(row, max_size=4))))


@given(tables(), st.integers(80, 200))
def test_no_line_is_wider_than_the_terminal(table, width):
    lines = terminal.render(Page((table,)), width=width, colour=False).splitlines()
    assert all(cell_len(line) <= width for line in lines)


@given(tables(), st.integers(80, 200))
def test_a_column_leaves_only_for_want_of_room_and_the_highest_first(table, width):
    found = fitted(table, width)
    stayed = {column.name for column in found.table.columns}
    left = [column for column in table.columns if column.name in found.hidden]
    assert stayed | set(found.hidden) == {column.name for column in table.columns}
    assert not found.hidden or total(fitted(table, None).widths) > width
    assert all(one.leaves for one in left)
    assert all(one.leaves >= other.leaves for one in left for other in found.table.columns)


@given(tables())
def test_off_a_terminal_nothing_leaves(table):
    assert fitted(table, None).hidden == ()


def test_names_lose_what_all_of_them_begin_with_before_a_column_leaves():
    shown = terminal.render(Page((GROUPED,)), width=85, colour=False)
    assert "Layer names begin with language_model.model.\n" in shown
    assert "│ layers.{0..61}.self_attn.attn │" in shown
    assert "page bytes" in shown
    assert "Not shown" not in shown


def test_columns_that_left_are_named():
    rows = tuple((*row[:4], cell("8,192 blocks at most")) for row in GROUPED.rows)
    shown = terminal.render(Page((Table(GROUPS, rows),)), width=85, colour=False)
    assert "Not shown at this width: unused (--wide shows all)" in shown
    assert "page bytes" in shown


def test_a_narrow_terminal_gets_a_list():
    shown = terminal.render(Page((GROUPED,)), width=60, colour=False)
    assert "━" not in shown
    assert "  layers      language_model.model.layers.{0..61}" in shown


@pytest.mark.parametrize(
    ("folded", "short"),
    [
        ("layers.{0,1,2,3,5,7,8,9,11,13}.attn", "layers.{0..3,5,…,13}.attn"),
        ("layers.{0,1,2,3,5}.attn", "layers.{0..3,5}.attn"),
        ("layers.{0..61}.attn", "layers.{0..61}.attn"),
        ("a{b", "a{b"),
        ("{²}", "{²}"),
    ],
)
def test_a_folded_name_shows_a_few_runs(folded, short):
    assert elided(folded) == short
