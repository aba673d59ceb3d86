"""The bytes of a block of one layer, latent ones (MLA) too: a page before padding, by release, and its alignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvinspect.provenance import vllm

if TYPE_CHECKING:
    from kvinspect.specs.kinds import LayerSpec
    from kvinspect.specs.needs import Heads

SCALE_BYTES = 4
"""Of the float32 scale of one token and head, one for K and one for V."""


def data_by_kind(spec: Heads) -> int:
    """Bytes of keys and values in a page, 0.25 to 0.27."""
    return spec.data_bytes()


@vllm("AttentionSpec.page_size_bytes", "AttentionSpec.real_page_size_bytes", until="0.27")
def page_by_kind(spec: Heads) -> int:
    """Bytes of an unpadded page, 0.25 to 0.27 (`AttentionSpec.page_size_bytes` before padding)."""
    scales = 2 * spec.block_size * spec.num_kv_heads * SCALE_BYTES if spec.per_token_head else 0
    return spec.data_bytes() + scales


@vllm("AttentionSpec.unpadded_page_size_bytes", "AttentionSpec.state_content_size_bytes", since="0.28")
def page_by_slots(spec: Heads) -> int:
    """Bytes of an unpadded page, 0.28 on (`AttentionSpec.unpadded_page_size_bytes`)."""
    return spec.num_heads * spec.num_states * spec.content_bytes


@vllm("_apply_alignment_padding", until="0.27")
def aligned_by_kind(spec: LayerSpec) -> LayerSpec:
    """A latent spec with its page rounded up to `alignment`, 0.25 to 0.27 (`_apply_alignment_padding`)."""
    return spec.aligned(data_by_kind)


@vllm("_apply_alignment_padding", since="0.28")
def aligned_by_slots(spec: LayerSpec) -> LayerSpec:
    """A latent spec with its page rounded up to `alignment`, 0.28 on, where its model version is checked as well."""
    return spec.checked().aligned(page_by_slots)
