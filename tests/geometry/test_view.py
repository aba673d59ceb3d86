"""A view has exactly the numbers that torch reports, and cannot be made exactly where torch refuses."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvinspect.geometry import StridedView, ViewError, contiguous_strides

torch = pytest.importorskip("torch")

DTYPES = {1: torch.int8, 2: torch.float16, 4: torch.float32, 8: torch.int64}


def numbers(tensor):
    return tuple(tensor.shape), tuple(tensor.stride()), tensor.storage_offset(), tensor.element_size()


def ours(view):
    return view.shape, view.stride, view.storage_offset, view.itemsize


def on_torch(tensor, name, arguments):
    if name == "view_dtype":
        return tensor.view(DTYPES[arguments[0]])
    if name == "slice":
        dim, start, stop = arguments
        return tensor[(slice(None),) * dim + (slice(start, stop),)]
    return getattr(tensor, name)(*arguments)


@st.composite
def operation(draw, tensor):
    """An operation that makes sense for a tensor more often than not."""
    ndim = tensor.dim()
    names = ["view", "view_dtype", "as_strided", *(["slice", "permute", "transpose"] if ndim else [])]
    name = draw(st.sampled_from(names))
    if name == "view":
        return name, (draw(shapes_of(tensor.numel())),)
    if name == "view_dtype":
        return name, (draw(st.sampled_from(sorted(DTYPES))),)
    if name == "slice":
        return name, (draw(st.integers(0, ndim - 1)), draw(st.integers(0, 4)), draw(st.integers(0, 9)))
    if name == "permute":
        return name, (tuple(draw(st.permutations(range(ndim)))),)
    if name == "transpose":
        return name, (draw(st.integers(0, ndim - 1)), draw(st.integers(0, ndim - 1)))
    size = draw(st.integers(0, 3))
    dims = st.lists(st.integers(0, 5), min_size=size, max_size=size).map(tuple)
    offset = draw(st.none() | st.integers(0, 3))
    return name, (draw(dims), draw(dims)) + (() if offset is None else (offset,))


@st.composite
def shapes_of(draw, numel):
    left, shape = numel, []
    for _ in range(draw(st.integers(0, 3))):
        divisors = [d for d in range(1, left + 1) if left % d == 0] or [0, 1, 3]
        shape.append(draw(st.sampled_from(divisors)))
        left = left // shape[-1] if shape[-1] else left
    shape = draw(st.permutations([*shape, left, *draw(st.lists(st.just(1), max_size=2))]))
    if draw(st.booleans()) and shape:
        shape[draw(st.integers(0, len(shape) - 1))] = draw(st.sampled_from([-1, 1, 2]))
    return tuple(shape)


@settings(max_examples=800, deadline=None)
@given(st.data())
def test_equals_torch_through_any_chain_of_operations(data):
    size = data.draw(st.sampled_from([0, 1, 8, 24, 48, 64, 96, 240]))
    tensor, view = torch.zeros(size, dtype=torch.int8), StridedView.of_bytes(size)
    for _ in range(data.draw(st.integers(1, 6))):
        name, arguments = data.draw(operation(tensor))
        try:
            tensor = on_torch(tensor, name, arguments)
        except RuntimeError:
            with pytest.raises(ViewError):
                getattr(view, name)(*arguments)
            return
        view = view.apply(((name, arguments),))
        assert ours(view) == numbers(tensor)


@given(st.lists(st.integers(0, 6), max_size=5).map(tuple))
def test_contiguous_strides_are_those_of_a_fresh_tensor(shape):
    assert contiguous_strides(shape) == torch.empty(shape, device="meta").stride()


def test_numbers_beyond_64_bits():
    view = StridedView.of_bytes(2**80).view_dtype(2).view((2**70, 2**9))
    assert view.stride == (2**9, 1)
    assert view.end_bytes == 2**80
