"""Why each step of the start-up came out as it did, with the rule that says so."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.backends.backend import fits
from kvinspect.document.document import Tensor
from kvinspect.document.numbers import counted
from kvinspect.engine.groups import KVCacheGroup
from kvinspect.engine.reason import Reason
from kvinspect.engine.release import Given
from kvinspect.engine.stages import Built


def reasons(given: Given, built: Built) -> tuple[Reason, ...]:
    """Return the reasons of a cache whose groups have been built."""
    return given.release.reasons(given, built)


def per_tensor(given: Given, built: Built) -> tuple[Reason, ...]:
    """Return the reasons of a cache with one allocation a tensor (0.25 to 0.28)."""
    return (*_layout(given, built), *pages(given, built), *kernel_blocks(given, built), *_placement(given, built))


def _layout(given: Given, built: Built) -> Iterator[Reason]:
    backends = {backend.name: backend for group in built.attention.flat for backend in [group.backend]}
    requiring = [name for name, backend in backends.items() if backend.required_layout == built.layout.name]
    written = given.document.model.kv_cache_layout
    if requiring:
        text = f"{built.layout.name}: {' and '.join(requiring)} requires it"
        text += f", whatever the document says ({written})" if written not in (None, built.layout.name) else ""
    else:
        text = f"{built.layout.name}: " + ("set by the document" if written else "the engine's default")
    yield Reason("layout", text, "get_required_kv_cache_layout, VLLM_KV_CACHE_LAYOUT")


def pages(given: Given, built: Built) -> Iterator[Reason]:
    """How many bytes a page of each group has."""
    for group in built.attention.groups:
        specs = dict.fromkeys(group.spec_of(layer) for layer in group.layer_names)
        sizes = ", ".join(str(given.page_size_bytes(spec)) for spec in specs)
        what = "pages" if len(specs) > 1 else "a page"
        kind = "uniform_type" if group.spec.each_its_own else group.first_spec.kind
        text = f"group {group.id} ({kind}): {what} of {sizes} bytes for {counted(group.spec.block_size, 'token')}"
        yield Reason("page size", text, "page_size_bytes")


def kernel_blocks(given: Given, built: Built) -> Iterator[Reason]:
    """The kernel block size of each group."""
    if given.document.model.kernel_block_sizes is not None:
        yield Reason("kernel blocks", f"{list(built.kernel_blocks)}: set by the document", "kernel_block_sizes")
        return
    caching = [group for group in built.attention.groups if group.first_spec.managed]
    for group, size in zip(caching, built.kernel_blocks, strict=True):
        text = f"group {group.id}: {counted(size, 'token')}, {_choice(built, group, size)}"
        yield Reason("kernel blocks", text, "select_common_block_size")


def _choice(built: Built, group: KVCacheGroup, size: int) -> str:
    if group.first_spec.holds_states:
        return "state-space blocks are never split"
    names = " and ".join(dict.fromkeys(member.backend.name for member in built.attention.members[group.id]))
    manager = group.spec.block_size
    if size == manager and not all(fits(size, m.backend.sizes_for(m.spec)) for m in built.attention.members[group.id]):
        return "kept whole, because pages of other layers lie between its blocks"
    if size == manager:
        return f"the manager's block size, which {names} supports" if names else "the manager's block size"
    ratio = manager // size
    split = f"a block is {counted(ratio, 'kernel block')}"
    return f"the largest size that {names} supports and that divides {manager}; {split}"


def _placement(given: Given, built: Built) -> Iterator[Reason]:
    tensors = built.tensors
    if given.document.tensors is not None:
        yield Reason("placement", f"{counted(len(tensors), 'tensor')}, as the document says", "kv_cache_tensors")
        return
    rule = "get_kv_cache_config_from_groups"
    yield Reason("placement", _placed(built, tensors), rule)


def _placed(built: Built, tensors: tuple[Tensor, ...]) -> str:
    if any(tensor.block_stride for tensor in tensors):
        slots = counted(len(tensors), "slot")
        return f"{slots} in one packed allocation, blocks of {counted(tensors[0].block_stride, 'byte')}"
    if len(built.attention.groups) == 1:
        return f"{counted(len(tensors), 'allocation')}, one per layer"
    return f"{counted(len(tensors), 'allocation')}; the i-th layer of every group shares the i-th"
