"""The strided view: a window on an allocation, with exactly the numbers that torch reports for it.

Every operation returns a new view and refuses what torch refuses, so that a chain of them can be worked out without a
tensor and be replayed on one to compare. Shapes, strides and offsets count elements; `itemsize` and `storage_bytes`
count bytes. Strides of dims of size 1 are kept as torch keeps them, because vLLM compares strides literally.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

Ints = tuple[int, ...]
Step = tuple[str, tuple[Any, ...]]
"""The name of an operation of `StridedView` and its arguments, to be applied here or replayed on a tensor."""


class ViewError(ValueError):
    """What was asked for cannot be expressed as a view of this storage; torch raises RuntimeError."""


@dataclass(frozen=True, slots=True)
class StridedView:
    """A view of `shape` and `stride` (elements), beginning `storage_offset` elements into `storage_bytes` bytes.

    >>> raw = StridedView.of_bytes(64)
    >>> raw.view_dtype(2).view((4, 2, 4)).permute((1, 0, 2)).stride
    (4, 8, 1)
    """

    shape: Ints
    stride: Ints
    storage_offset: int
    itemsize: int
    storage_bytes: int

    @classmethod
    def of_bytes(cls, size: int) -> StridedView:
        """A fresh allocation of `size` bytes, as one dim of bytes."""
        return cls((size,), (1,), 0, 1, size)

    @property
    def numel(self) -> int:
        """How many elements the view has, the ones that it shares with itself counted again."""
        return prod(self.shape)

    @property
    def end_bytes(self) -> int:
        """The byte behind the last one that the view touches, counted from the start of the storage."""
        if self.numel == 0:
            return 0
        last = sum((n - 1) * s for n, s in zip(self.shape, self.stride, strict=True))
        return (self.storage_offset + last + 1) * self.itemsize

    @property
    def leaves_storage(self) -> bool:
        """Whether the view touches bytes that are not there; torch makes no such view, but a record may hold one."""
        return self.end_bytes > self.storage_bytes

    def further(self, elements: int) -> StridedView:
        """The same view a number of elements further on; whether it leaves the storage is not asked."""
        return StridedView(self.shape, self.stride, self.storage_offset + elements, self.itemsize, self.storage_bytes)

    def apply(self, steps: tuple[Step, ...]) -> StridedView:
        """The view behind a chain of operations. Raises ViewError where one of them cannot be done."""
        view = self
        for name, arguments in steps:
            view = getattr(view, name)(*arguments)
        return view

    def view_dtype(self, itemsize: int) -> StridedView:
        """The same bytes as elements of `itemsize` bytes, as `tensor.view(dtype)`.

        >>> StridedView.of_bytes(6).view_dtype(4)
        Traceback (most recent call last):
        kvinspect.geometry.view.ViewError: 6 bytes in the last dim are no whole number of 4-byte elements
        """
        if itemsize == self.itemsize:
            return self
        if not self.shape:
            raise ViewError("a view without dims cannot change the size of its element")
        if self.stride[-1] != 1:
            raise ViewError(f"the last dim has stride {self.stride[-1]}, not 1, so its elements cannot change size")
        shrink, grow = self.itemsize, itemsize
        if (self.shape[-1] * shrink) % grow:
            raise ViewError(
                f"{self.shape[-1] * shrink} bytes in the last dim are no whole number of {grow}-byte elements"
            )
        lengths = (*self.stride[:-1], self.storage_offset)
        if any((length * shrink) % grow for length in lengths):
            raise ViewError(f"a stride or the offset is no whole number of {grow}-byte elements")
        *outer, offset = (length * shrink // grow for length in lengths)
        shape = (*self.shape[:-1], self.shape[-1] * shrink // grow)
        return replace(self, shape=shape, stride=(*outer, 1), storage_offset=offset, itemsize=itemsize)

    def view(self, shape: Ints) -> StridedView:
        """The same elements in the same order under another shape, as `tensor.view(shape)`; one dim may be -1."""
        wanted = self._inferred(shape)
        if prod(wanted) != self.numel:
            raise ViewError(f"shape {list(shape)} is invalid for input of size {self.numel}")
        stride = _regrouped(self.shape, self.stride, wanted)
        if stride is None:
            raise ViewError(f"shape {list(wanted)} spans dims of strides {list(self.stride)} that do not join")
        return replace(self, shape=wanted, stride=stride)

    def _inferred(self, shape: Ints) -> Ints:
        if -1 not in shape:
            return shape
        known = prod(n for n in shape if n != -1)
        if known == 0 or self.numel % known:
            raise ViewError(f"shape {list(shape)} is invalid for input of size {self.numel}")
        return tuple(self.numel // known if n == -1 else n for n in shape)

    def slice(self, dim: int, start: int, stop: int) -> StridedView:
        """The elements `start` to `stop` of a dim, cut off at its end, as `tensor[start:stop]` does."""
        size = self.shape[dim]
        start, stop = min(start, size), min(stop, size)
        shape = (*self.shape[:dim], max(stop - start, 0), *self.shape[dim + 1 :])
        return replace(self, shape=shape, storage_offset=self.storage_offset + start * self.stride[dim])

    def select(self, dim: int, index: int) -> StridedView:
        """One entry of a dim, as `tensor.select(dim, index)`; the dim is gone."""
        one = self.slice(dim, index, index + 1)
        shape, stride = (row[:dim] + row[dim + 1 :] for row in (one.shape, one.stride))
        return replace(one, shape=shape, stride=stride)

    def permute(self, order: Ints) -> StridedView:
        """The dims in another order.

        >>> StridedView.of_bytes(6).view((2, 3)).permute((1, 0)).shape
        (3, 2)
        """
        if sorted(order) != list(range(len(self.shape))):
            raise ViewError(f"{list(order)} is no order of {len(self.shape)} dims")
        shape = tuple(self.shape[d] for d in order)
        return replace(self, shape=shape, stride=tuple(self.stride[d] for d in order))

    def transpose(self, first: int, second: int) -> StridedView:
        """Two dims exchanged."""
        order = list(range(len(self.shape)))
        order[first], order[second] = order[second], order[first]
        return self.permute(tuple(order))

    def as_strided(self, shape: Ints, stride: Ints, storage_offset: int | None = None) -> StridedView:
        """Any window on the storage, in elements of the present size. Raises ViewError where it leaves the storage.

        >>> StridedView.of_bytes(8).as_strided((2, 4), (5, 1))
        Traceback (most recent call last):
        kvinspect.geometry.view.ViewError: sizes [2, 4] with strides [5, 1] at offset 0 need 9 bytes of a storage of 8
        """
        offset = self.storage_offset if storage_offset is None else storage_offset
        moved = replace(self, shape=shape, stride=stride, storage_offset=offset)
        if moved.leaves_storage:
            raise ViewError(
                f"sizes {list(shape)} with strides {list(stride)} at offset {offset} need {moved.end_bytes} bytes "
                f"of a storage of {self.storage_bytes}"
            )
        return moved


def contiguous_strides(shape: Ints) -> Ints:
    """The strides of a fresh row-major tensor; a dim of size 0 counts as 1, as in torch.

    >>> contiguous_strides((4, 0, 3))
    (3, 3, 1)
    """
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _regrouped(shape: Ints, stride: Ints, wanted: Ints) -> Ints | None:
    """The strides under which `wanted` visits the elements of `shape` in order, None where no strides do.

    Dims are joined from the right into runs of evenly spaced elements, and each run is dealt out again to the wanted
    dims that fill it exactly.
    """
    if prod(shape) == 0:
        return stride if shape == wanted else contiguous_strides(wanted)
    found: list[int] = []
    left = list(wanted)
    for length, step in _runs(shape, stride):
        filled = 1
        while left and (filled < length or left[-1] == 1):
            found.append(filled * step)
            filled *= left.pop()
        if filled != length:
            return None
    return None if left else tuple(reversed(found))


def _runs(shape: Ints, stride: Ints) -> list[tuple[int, int]]:
    """(number of elements, stride) of each evenly spaced run of dims, the innermost first."""
    runs: list[tuple[int, int]] = []
    length, step = 1, stride[-1] if stride else 1
    for dim in reversed(range(len(shape))):
        length *= shape[dim]
        outermost = dim == 0
        if outermost or (shape[dim - 1] != 1 and stride[dim - 1] != length * step):
            runs.append((length, step))
            length, step = 1, stride[dim - 1]
    return runs or [(1, 1)]
