from hypothesis import given
from hypothesis import strategies as st

from kvinspect.geometry.lattice import floor_sum, smallest_pair

small = st.integers(0, 9)


@given(st.tuples(small, small), st.tuples(small, small), st.integers(-60, 60), st.integers(0, 20))
def test_the_smallest_pair_is_found_whenever_there_is_one(strides, bounds, low, width):
    a, b = strides
    all_pairs = [
        (i, j) for i in range(bounds[0]) for j in range(bounds[1]) if i != j and low <= i * a - j * b <= low + width
    ]
    found = smallest_pair(strides, bounds, low, low + width)
    assert (found is None) == (not all_pairs)
    if found:
        assert found in all_pairs
        assert max(found) == min(map(max, all_pairs))


@given(st.integers(0, 15), st.integers(1, 9), st.integers(0, 30), st.integers(-40, 40))
def test_floor_sum_equals_the_sum(count, divisor, slope, start):
    assert floor_sum(count, divisor, slope, start) == sum((slope * i + start) // divisor for i in range(count))


def test_bounds_beyond_64_bits():
    n = 2**100
    assert smallest_pair((n, n + 1), (n, n), -1, -1) is None  # (1, 1) is no pair of two, and the next ends beyond n
    assert smallest_pair((n, n + 1), (n + 3, n + 3), -1, -1) == (n + 2, n + 1)
    found = smallest_pair((n, n + 1), (2 * n, 2 * n), n - 5, n - 5)
    assert found is not None
    assert found[0] * n - found[1] * (n + 1) == n - 5
