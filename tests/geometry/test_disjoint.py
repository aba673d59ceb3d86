"""The proof against a map of every byte."""

from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kvinspect.geometry import StridedView, contiguous_strides
from kvinspect.geometry.disjoint import gaps, meeting
from kvinspect.geometry.runs import Intricate, block_bytes, shared_bytes

STORAGE = 1 << 60


def byte_map(view, block_dim, num_blocks, kernel_blocks):
    """Byte → the blocks that touch it, by enumeration."""
    found = {}
    usable = min(num_blocks, view.shape[block_dim] // kernel_blocks)
    for index in product(*map(range, view.shape)):
        block = index[block_dim] // kernel_blocks
        if block < usable:
            element = view.storage_offset + sum(i * s for i, s in zip(index, view.stride, strict=True))
            for byte in range(element * view.itemsize, (element + 1) * view.itemsize):
                found.setdefault(byte, set()).add(block)
    return found


@st.composite
def views(draw):
    """(view, block dim, kernel blocks in a block): dense layouts in any order, padded ones, and any strides at all."""
    ndim = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 2, 3, 4]), min_size=ndim, max_size=ndim)))
    order = draw(st.permutations(range(ndim)))
    dense = contiguous_strides(tuple(shape[d] for d in order))
    stride = tuple(dense[order.index(d)] for d in range(ndim))
    how = draw(st.sampled_from(["dense", "padded", "any"]))
    if how == "padded":
        stride = tuple(s + draw(st.integers(0, 3)) if n > 1 else s for n, s in zip(shape, stride, strict=True))
    if how == "any":
        stride = tuple(draw(st.lists(st.integers(0, 14), min_size=ndim, max_size=ndim)))
    view = StridedView(shape, stride, draw(st.integers(0, 6)), draw(st.sampled_from([1, 2, 4])), STORAGE)
    dim = draw(st.integers(0, ndim - 1))
    return view, dim, draw(st.sampled_from([k for k in (1, 2) if shape[dim] % k == 0]))


@settings(max_examples=3000, deadline=None)
@given(views(), views(), st.integers(1, 5))
def test_agrees_with_the_byte_map(first, second, num_blocks):
    maps = [byte_map(view, dim, num_blocks, kernel) for view, dim, kernel in (first, second)]
    clashes = {
        (i, j): byte
        for byte in sorted(maps[0].keys() & maps[1].keys(), reverse=True)
        for i in maps[0][byte]
        for j in maps[1][byte]
        if i != j
    }
    a, b = (block_bytes(view, dim, num_blocks, kernel) for view, dim, kernel in (first, second))
    met = meeting(a, b)
    assert (met is None) == (not clashes)
    if met:
        assert clashes[met.blocks] == met.byte
        assert max(met.blocks) == min(map(max, clashes))
        i, j = met.blocks
        assert met.num_bytes == sum(i in maps[0][x] and j in maps[1][x] for x in maps[0].keys() & maps[1].keys())


@settings(max_examples=500, deadline=None)
@given(views(), st.integers(1, 5))
def test_the_runs_of_a_block_are_its_bytes(case, num_blocks):
    view, dim, kernel = case
    by_byte = byte_map(view, dim, num_blocks, kernel)
    covered = block_bytes(view, dim, num_blocks, kernel)
    for block in range(covered.num_blocks):
        mine = sorted(byte for byte, blocks in by_byte.items() if block in blocks)
        assert [byte for start, end in covered.runs(block) for byte in range(start, end)] == mine


@settings(max_examples=300, deadline=None)
@given(views(), st.integers(1, 5))
def test_the_same_view_twice_tells_whether_blocks_overlap_themselves(case, num_blocks):
    view, dim, kernel = case
    overlaps = any(len(blocks) > 1 for blocks in byte_map(view, dim, num_blocks, kernel).values())
    covered = block_bytes(view, dim, num_blocks, kernel)
    assert (meeting(covered, covered) is not None) == overlaps


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=5),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 9)), max_size=5),
)
@example([(0, 4)], [(4, 4)])
def test_shared_bytes(first, second):
    def joined(runs):
        bytes_ = sorted({b for start, length in runs for b in range(start, start + length)})
        starts = [b for b in bytes_ if b - 1 not in bytes_]
        ends = [b + 1 for b in bytes_ if b + 1 not in bytes_]
        return list(zip(starts, ends, strict=True)), set(bytes_)

    (a, in_a), (b, in_b) = joined(first), joined(second)
    common = in_a & in_b
    assert shared_bytes(a, b) == (min(common, default=-1), len(common))


def test_blocks_beyond_64_bits():
    blocks = 2**90
    halves = StridedView((2, blocks, 8), (blocks * 8, 8, 1), 0, 2, blocks * 64)
    pages = StridedView((blocks, 32), (32, 1), 0, 1, blocks * 64)
    met = meeting(block_bytes(halves, 1, blocks), block_bytes(pages, 0, blocks))
    assert met is not None
    assert met.blocks == (1, 0)
    assert met.byte == 16


def scattered(count, blocks):
    """One layer whose heads lie around the blocks: [count, blocks, 8], blocks in the middle."""
    stride = (blocks * 8, 8, 1)
    return block_bytes(StridedView((count, blocks, 8), stride, 0, 2, STORAGE), 1, blocks)


def test_pieces_beyond_number_are_proved_apart_without_listing_them():
    many = scattered(50_000_000, 4)
    assert meeting(many, many) is None
    assert gaps(many, many) == [(-15, 15)]


def test_what_would_take_too_long_is_said():
    many = scattered(400_000, 4)
    with pytest.raises(Intricate):
        many.runs(0)
    with pytest.raises(Intricate):
        meeting(many, many._replace(dims=((400_000, 80),), block_stride=20))
