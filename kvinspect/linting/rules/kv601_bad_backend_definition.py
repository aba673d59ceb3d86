"""KV601: an out-of-tree backend whose answers no engine could use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kvinspect.document.model import BackendEntry
from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Shapes that do not count blocks, stride orders that are no permutation, no block size at all."""
    for name, entry in subject.document.model.backends.items():
        for key, text in _wrong(entry):
            yield Found(("backends", name, key), f"{name}: {text}")


def _wrong(entry: BackendEntry) -> Iterator[tuple[str, str]]:
    if entry.kv_cache_shape is not None:
        yield from _wrong_shape(entry, entry.kv_cache_shape)
    if entry.supported_kernel_block_sizes == []:
        yield "supported_kernel_block_sizes", "the list is empty; remove the key to accept any block size"


def _wrong_shape(entry: BackendEntry, shape: Sequence[int | str]) -> Iterator[tuple[str, str]]:
    counting = sum(dim == "num_blocks" for dim in shape)
    if counting != 1:
        yield "kv_cache_shape", f"exactly one dim must be num_blocks; {counting} are"
    order = entry.kv_cache_stride_order
    for layout, dims in order.items() if isinstance(order, dict) else [("every layout", order)]:
        if dims is not None and not _is_permutation(dims, len(shape)):
            wanted = ", ".join(map(str, range(len(shape))))
            yield "kv_cache_stride_order", f"the order for {layout} must name each of {wanted} exactly once"


def _is_permutation(dims: Sequence[int], count: int) -> bool:
    return sorted(dims) == list(range(count))


RULE = Rule("KV601", "bad-backend-definition", ERROR, "an out-of-tree backend with an invalid definition", check)
