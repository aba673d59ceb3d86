"""KV202: the block size is not one that the backend takes."""

from __future__ import annotations

from collections.abc import Iterator

from kvinspect.backends.candidates import takes_block
from kvinspect.engine.groups import AttentionGroup
from kvinspect.linting.rule import ERROR, Found, Rule
from kvinspect.linting.rules._shared import GROUPS
from kvinspect.linting.subjects.document import DocumentSubject


def takers(subject: DocumentSubject) -> Iterator[AttentionGroup]:
    """Attention groups whose backend takes no kernel block that divides their block size."""
    for members in subject.split:
        for group in members:
            is_attention = group.spec.is_attention
            if is_attention and not takes_block(group.backend.sizes_for(group.spec), group.spec.block_size):
                yield group


def check(subject: DocumentSubject) -> Iterator[Found]:
    """Block sizes that a backend's kernels cannot run on."""
    for group in takers(subject):
        known = ", ".join(map(_words, group.backend.sizes_for(group.spec))) or "none"
        path = (*GROUPS, group.kv_cache_group_id, "kv_cache_spec", "block_size")
        text = f"{group.backend.name} does not support block size {group.spec.block_size} (supported: {known})"
        yield Found(path, f"{text}; set --block-size to a supported size or a multiple of one", group.layer_names)


def _words(size: object) -> str:
    text = str(size)
    return f"multiples of {text[:-1]}" if text.endswith("n") else text


RULE = Rule("KV202", "unsupported-block-size", ERROR, "a block size that the backend does not support", check)
