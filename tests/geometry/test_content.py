"""What lies where in a block, against a map of every byte."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvinspect.geometry.content import Region, first_moved, gathered, joined
from kvinspect.geometry.runs import MAX_RUNS, BlockBytes, Intricate, merged


@st.composite
def layouts(draw, tokens, heads, elements, itemsize):
    """A block with K and V: every digit at a place of its own in a random order, with gaps in some layouts."""
    splits = [(tokens,)] + [(n, tokens // n) for n in range(2, tokens) if tokens % n == 0]
    digits = [("token", n) for n in draw(st.sampled_from(splits))] + [("head", heads), ("element", elements)]
    order = draw(st.permutations(range(len(digits) + 1)))
    strides, step, dims = {}, itemsize, []
    for slot in order:
        count = 2 if slot == len(digits) else digits[slot][1]
        step += draw(st.sampled_from([0, 0, 0, itemsize])) if step > itemsize else 0
        strides[slot] = step
        dims.append((count, step))
        step *= count
    named = {"token": [], "head": [], "element": []}
    for slot, (name, count) in enumerate(digits):
        named[name].append((count, strides[slot]))
    coordinates = tuple(tuple(named[name]) for name in ("token", "head", "element"))
    content = {
        "K": Region(0, coordinates, itemsize),
        "V": Region(strides[len(digits)], coordinates, itemsize),
    }
    return content, BlockBytes(0, step, 1, *merged(dims, itemsize))


@st.composite
def pairs(draw):
    sizes = [draw(st.sampled_from(which)) for which in ([1, 2, 4, 6], [1, 2, 3], [1, 2, 4], [1, 2])]
    return draw(layouts(*sizes)), draw(layouts(*sizes))


def every_place(region):
    return product(*map(range, region.counts))


def bytes_in_order(content):
    """Every byte of a block → its rank among them, by enumeration."""
    covered = {
        region.byte_of(place) + i
        for region in content.values()
        for place in every_place(region)
        for i in range(region.itemsize)
    }
    return {byte: rank for rank, byte in enumerate(sorted(covered))}


@given(pairs())
def test_a_copied_block_is_judged_as_a_map_of_its_bytes_judges_it(pair):
    (a, block_a), (b, block_b) = pair
    rank_a, rank_b = bytes_in_order(a), bytes_in_order(b)
    moved = []
    for name, region in a.items():
        for place in every_place(region):
            here, there = rank_a[region.byte_of(place)], rank_b[b[name].byte_of(place)]
            if here != there:
                moved.append((here, there, name, place))
    found = first_moved(gathered(a, block_a), gathered(b, block_b))
    assert (found and (found.byte, found.other_byte, found.region, found.place)) == min(moved, default=None)


@given(pairs())
def test_what_lies_at_a_byte_is_what_was_put_there(pair):
    content, _ = pair[0]
    for region in content.values():
        for place in every_place(region):
            for i in range(region.itemsize):
                assert region.at(region.byte_of(place) + i) == place


DIGITS = st.lists(st.tuples(st.integers(1, 4), st.integers(0, 40)), min_size=1, max_size=3).map(tuple)


@given(DIGITS, DIGITS)
def test_two_ways_to_write_a_coordinate_join_to_one(first, second):
    a, b = (Region(0, (digits,), 1) for digits in (first, second))
    if a.counts != b.counts:
        return
    agree = all(a.byte_of((x,)) == b.byte_of((x,)) for x in range(a.counts[0]))
    assert (joined(first) == joined(second)) is agree


@given(DIGITS, DIGITS)
def test_the_first_element_that_moves_has_the_lowest_byte(first, second):
    a, b = (Region(0, (digits,), 1) for digits in (first, second))
    if a.counts != b.counts:
        return
    differ = [a.byte_of((x,)) for x in range(a.counts[0]) if a.byte_of((x,)) != b.byte_of((x,))]
    found = first_moved({"K": a}, {"K": b})
    assert (found.byte if found else None) == min(differ, default=None)


def test_too_many_places_are_refused():
    count = MAX_RUNS + 1
    a, b = (Region(0, (((count, stride),),), 1) for stride in (1, 2))
    with pytest.raises(Intricate):
        first_moved({"K": a}, {"K": b})
    assert first_moved({"K": a}, {"K": a}) is None


def test_runs_that_overlap_are_left_as_they_are():
    content = {"K": Region(0, (((4, 8),), ((16, 1),)), 1)}
    assert gathered(content, BlockBytes(0, 64, 1, ((4, 8),), 16)) == content
