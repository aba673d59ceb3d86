"""Why each step of the start-up came out as it did, with the rule that says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvinspect.document.document import Tensor
from kvinspect.document.numbers import counted
from kvinspect.engine.backends import fits
from kvinspect.engine.cache import Cache
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.specs.uniform_type import UniformTypeSpecs


class Reason(NamedTuple):
    """One step: what came of it and why, and the function of the release whose rule it is."""

    step: str
    text: str
    rule: str


def reasons(cache: Cache) -> tuple[Reason, ...]:
    """The reasons of a cache whose groups have been built."""
    return cache.release.storage.reasons(cache)


def own_reasons(cache: Cache) -> tuple[Reason, ...]:
    """Of allocations of their own (0.25 to 0.28)."""
    return (*_layout(cache), *pages(cache), *kernel_blocks(cache), *_placement(cache))


def _layout(cache: Cache) -> Iterator[Reason]:
    backends = {backend.name: backend for group in cache.flat for backend in [group.backend]}
    requiring = [name for name, backend in backends.items() if backend.required_layout == cache.layout]
    written = cache.document.model.kv_cache_layout
    if requiring:
        text = f"{cache.layout}: {' and '.join(requiring)} requires it"
        text += f", whatever the document says ({written})" if written not in (None, cache.layout) else ""
    else:
        text = f"{cache.layout}: " + ("the document says so" if written else "the engine's default")
    yield Reason("layout", text, "get_required_kv_cache_layout, VLLM_KV_CACHE_LAYOUT")


def pages(cache: Cache) -> Iterator[Reason]:
    """How many bytes a page of each group has."""
    for group in cache.groups:
        specs = dict.fromkeys(group.spec_of(layer) for layer in group.layer_names)
        sizes = ", ".join(str(cache.page_size_bytes(spec)) for spec in specs)
        what = "pages" if len(specs) > 1 else "a page"
        kind = "uniform_type" if isinstance(group.spec, UniformTypeSpecs) else group.first_spec.kind
        text = f"group {group.id} ({kind}): {what} of {sizes} bytes for {counted(group.spec.block_size, 'token')}"
        yield Reason("page size", text, "page_size_bytes")


def kernel_blocks(cache: Cache) -> Iterator[Reason]:
    """The kernel block size of each group."""
    if cache.document.model.kernel_block_sizes is not None:
        yield Reason("kernel blocks", f"{list(cache.kernel_block_sizes)}: the document says so", "kernel_block_sizes")
        return
    caching = [group for group in cache.groups if group.first_spec.kind != "encoder_only_attention"]
    for group, size in zip(caching, cache.kernel_block_sizes, strict=True):
        text = f"group {group.id}: {counted(size, 'token')}, {_choice(cache, group, size)}"
        yield Reason("kernel blocks", text, "select_common_block_size")


def _choice(cache: Cache, group: KVCacheGroup, size: int) -> str:
    if group.first_spec.kind == "mamba":
        return "state-space blocks are never split"
    names = " and ".join(dict.fromkeys(member.backend.name for member in cache.attention[group.id]))
    manager = group.spec.block_size
    if size == manager and not all(fits(size, m.backend.sizes_for(m.spec)) for m in cache.attention[group.id]):
        return "kept whole, because pages of other layers lie between its blocks"
    if size == manager:
        return f"the manager's block size, which {names} takes" if names else "the manager's block size"
    ratio = manager // size
    return (
        f"the largest size that {names} takes and that divides {manager}; a block is {counted(ratio, 'kernel block')}"
    )


def _placement(cache: Cache) -> Iterator[Reason]:
    tensors = cache.tensors
    if cache.document.tensors is not None:
        yield Reason("placement", f"{counted(len(tensors), 'tensor')}, as the document says", "kv_cache_tensors")
        return
    rule = "get_kv_cache_config_from_groups"
    yield Reason("placement", _placed(cache, tensors), rule)


def _placed(cache: Cache, tensors: tuple[Tensor, ...]) -> str:
    if any(tensor.block_stride for tensor in tensors):
        slots = counted(len(tensors), "slot")
        return f"{slots} in one packed allocation, blocks of {counted(tensors[0].block_stride, 'byte')}"
    if len(cache.groups) == 1:
        return f"{counted(len(tensors), 'allocation')}, one per layer"
    return f"{counted(len(tensors), 'allocation')}; the i-th layer of every group shares the i-th"
