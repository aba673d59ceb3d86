"""KV207: a block of the manager is split into kernel blocks."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.document.numbers import counted
from kvinspect.linting.rule import NOTE, Found, Rule
from kvinspect.linting.rules._shared import GROUPS
from kvinspect.linting.subjects.document import DocumentSubject


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Groups whose kernels run on smaller blocks than the manager's."""
    cache = subject.cache
    for members, size in zip(subject.split, cache.kernel_blocks if cache else (), strict=False):
        for group in members[:1]:
            block = group.spec.block_size
            if not group.spec.holds_states and size < block:
                kernel_blocks = counted(block // size, "kernel block")
                split = f"split into {kernel_blocks} of {counted(size, 'token')}"
                text = f"a block of {counted(block, 'token')} is {split} ({group.backend.name})"
                yield Found((*GROUPS, group.kv_cache_group_id, "kv_cache_spec", "block_size"), text, group.layer_names)


RULE = Rule("KV207", "split-kernel-blocks", NOTE, "a block is split into kernel blocks", check)
