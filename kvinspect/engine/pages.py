"""How many bytes a block of each spec takes: `page_size_bytes`.

Up to 0.27 every spec class has a formula of its own; from 0.28 on a page is head slots × stored states × the bytes of
one, and the backend writes what it packs into the spec beforehand (`customize_spec`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvinspect.document.document import GROUPS
from kvinspect.document.numbers import counted
from kvinspect.engine.backends import Backend
from kvinspect.engine.conditions import outcomes
from kvinspect.engine.expressions import evaluate
from kvinspect.engine.refusal import Refused, Unknown
from kvinspect.engine.specs import LATENT, AttentionSpec, LayerSpec, MambaSpec, UniformTypeSpecs

SCALE_BYTES = 4
"""Of the float32 scale of one token and head, one for K and one for V."""

UnpaddedPage = Callable[[AttentionSpec], int]


def page_by_kind(spec: AttentionSpec) -> int:
    """Bytes of an unpadded page, 0.25 to 0.27 (`AttentionSpec.page_size_bytes` before padding)."""
    scales = 2 * spec.block_size * spec.num_kv_heads * SCALE_BYTES if spec.per_token_head else 0
    return data_by_kind(spec) + scales


def data_by_kind(spec: AttentionSpec) -> int:
    """Bytes of keys and values in a page, 0.25 to 0.27 (`real_page_size_bytes` of each class)."""
    if spec.kind in LATENT:
        return _latent(spec)
    if spec.kind == "tq_full_attention" and spec.tq_slot_size:
        return spec.block_size * spec.num_kv_heads * spec.tq_slot_size
    return spec.block_size * spec.num_kv_heads * _head_elements(spec) * spec.itemsize


def _head_elements(spec: AttentionSpec) -> int:
    """Elements of a head's key and value as they are packed."""
    has_v = spec.kind not in ("chunked_local_attention", "cross_attention", "encoder_only_attention")
    sizes = (spec.head_size, spec.head_size_v if has_v else spec.head_size)
    if spec.kv_quant_mode == "NVFP4":
        return sum(nvfp4_elements(size) for size in sizes)
    # SlidingWindowSpec does not know that int4 packs two elements into a byte, though backends do.
    if spec.kv_quant_mode == "INT4_PER_TOKEN_HEAD" and spec.kind != "sliding_window":
        return sum(size // 2 for size in sizes)
    return sum(sizes)


def nvfp4_elements(size: int) -> int:
    """Bytes of `size` fp4 elements and of the fp8 scales of their blocks of 16.

    >>> nvfp4_elements(128)
    72
    """
    return size // 2 + size // 16


def _latent(spec: AttentionSpec) -> int:
    deepseek_v4 = spec.model_version == "deepseek_v4"
    if spec.cache_dtype_str == "fp8_ds_mla" and deepseek_v4:
        return spec.storage_block_size * 584
    if spec.kind == "sliding_window_mla":
        _check_model_version(spec)
        return spec.storage_block_size * spec.num_kv_heads * spec.head_size * spec.itemsize
    if spec.cache_dtype_str == "fp8_ds_mla":
        return spec.block_size * 656
    elements = spec.head_size // 2 if spec.kv_quant_mode == "INT4_PER_TOKEN_HEAD" else spec.head_size
    return spec.storage_block_size * spec.num_kv_heads * elements * spec.itemsize


def page_by_slots(spec: AttentionSpec) -> int:
    """Bytes of an unpadded page, 0.28 on (`AttentionSpec.unpadded_page_size_bytes`)."""
    return spec.num_heads * spec.num_states * content_bytes(spec)


def content_bytes(spec: LayerSpec) -> int:
    """Bytes of one head slot's state, 0.28 on (`state_content_size_bytes`)."""
    if isinstance(spec, MambaSpec):
        return spec.states_bytes
    return spec.state_content_bytes or (spec.head_size + spec.head_size_v) * spec.itemsize


def aligned_by_kind(spec: LayerSpec) -> LayerSpec:
    """A latent spec with its page rounded up to `alignment`, 0.25 to 0.27 (`_apply_alignment_padding`)."""
    return _aligned(spec, data_by_kind)


def aligned_by_slots(spec: LayerSpec) -> LayerSpec:
    """A latent spec with its page rounded up to `alignment`, 0.28 on, where its model version is checked as well."""
    if spec.kind == "sliding_window_mla" and isinstance(spec, AttentionSpec):
        _check_model_version(spec)
    return _aligned(spec, page_by_slots)


def _aligned(spec: LayerSpec, data: UnpaddedPage) -> LayerSpec:
    if not isinstance(spec, AttentionSpec) or spec.kind not in LATENT or spec.alignment is None:
        return spec
    size = data(spec)
    padded = -(-size // spec.alignment) * spec.alignment
    return spec if padded == size else spec._replace(page_size_padded=padded)


def _check_model_version(spec: AttentionSpec) -> None:
    if spec.model_version not in (None, "deepseek_v4"):
        raise Refused("AssertionError", f"the model version {spec.model_version} has no sliding window over latents")


def unpadded_bytes(spec: LayerSpec, unpadded: UnpaddedPage) -> int:
    """Bytes that a block of one layer fills, its padding left out."""
    return spec.states_bytes if isinstance(spec, MambaSpec) else unpadded(spec)


def page_size_bytes(spec: LayerSpec, unpadded: UnpaddedPage) -> int:
    """Bytes of a block of one layer, its padding included. Raises Refused where the padding makes it smaller."""
    size = unpadded_bytes(spec, unpadded)
    if spec.page_size_padded is None:
        return size
    if spec.page_size_padded < size:
        text = f"page_size_padded is {counted(spec.page_size_padded, 'byte')}, the page itself {size}"
        raise Refused("AssertionError", text, function="page_size_bytes", kind="padded-page")
    return spec.page_size_padded


def group_page_size_bytes(spec: LayerSpec | UniformTypeSpecs, unpadded: UnpaddedPage) -> int:
    """Bytes of a block of a whole group's layer, or of all its layers together where their pages differ."""
    if isinstance(spec, UniformTypeSpecs):
        return sum(page_size_bytes(inner, unpadded) for _, inner in spec.specs)
    return page_size_bytes(spec, unpadded)


def customized(spec: LayerSpec, backend: Backend) -> LayerSpec:
    """A spec with what the backend packs into its pages, 0.28 on (`AttentionBackend.customize_spec`).

    Raises Refused where the backend cannot pack the spec, Unknown where what it packs hangs on more than a document
    says.
    """
    if not isinstance(spec, AttentionSpec):
        return spec
    rules = backend.entry.get("customize_spec", [])
    facts = {**backend.facts, "kv_quant_mode": spec.kv_quant_mode}
    rule = next((value for value, needed in outcomes(rules, facts) if not needed), None)
    return spec if rule is None else _packed(spec, rule, backend)


def customized_splittable(spec: LayerSpec, backend: Backend) -> LayerSpec:
    """As `customized`, and blocks that kernels of fixed sizes split stay whole ones apart (0.33)."""
    spec = customized(spec, backend)
    sizes = backend.sizes_for(spec)
    if not isinstance(spec, AttentionSpec) or spec.block_stride_alignment is not None:
        return spec
    fixed = [size for size in sizes if isinstance(size, int)]
    if not fixed or len(fixed) < len(sizes):
        return spec
    return aligned_by_slots(spec._replace(block_stride_alignment=f"{max(fixed)}n"))


def _packed(spec: AttentionSpec, rule: Mapping[str, Any], backend: Backend) -> LayerSpec:
    multiple = rule.get("block_size_multiple", 1)
    if spec.block_size != 1 and spec.block_size % multiple:
        text = f"{backend.name} takes blocks of a multiple of {counted(multiple, 'token')}, not {spec.block_size}"
        raise Refused("ValueError", text, function="customize_spec")
    changed = _content(spec, rule, backend) if spec.state_content_bytes is None else spec
    if "block_stride_alignment" in rule:
        changed = changed._replace(block_stride_alignment=_alignment(changed, rule["block_stride_alignment"]))
    return spec if changed is spec else aligned_by_slots(changed)


def _content(spec: AttentionSpec, rule: Mapping[str, Any], backend: Backend) -> AttentionSpec:
    """The spec with its head slots and the bytes of a state, as the backend packs them."""
    if "refuses" in rule:
        raise Refused(**rule["refuses"], function="customize_spec")
    if "unknown" in rule:
        raise Unknown(
            GROUPS, backend.name, f"state_content_bytes in the spec, because {rule['unknown']}", kind="unknown-page"
        )
    if "requires" in rule and spec.head_size != spec.head_size_v:
        text = f"{backend.name} packs keys and values of one size only, not {spec.head_size} and {spec.head_size_v}"
        raise Refused("AssertionError", text, function="customize_spec")
    if "state_content_bytes" not in rule:
        return spec
    sizes = {"num_kv_heads": spec.num_kv_heads, "itemsize": spec.itemsize}
    sizes |= {"head_size": spec.head_size, "head_size_v": spec.head_size_v}
    slots = evaluate(rule["num_head_slots"], sizes) if "num_head_slots" in rule else spec.num_head_slots
    return spec._replace(num_head_slots=slots, state_content_bytes=evaluate(rule["state_content_bytes"], sizes))


def _alignment(spec: AttentionSpec, rule: str) -> int | str:
    """`64n` as it stands, else bytes."""
    return rule if rule.endswith("n") else evaluate(rule, {"state_content_size_bytes": content_bytes(spec)})
