"""What a backend writes into a spec before its pages are measured: `customize_spec`, from 0.28 on.

How many bytes a page has, and its alignment, is said by `specs/page_size.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvinspect.backends.backend import Backend
from kvinspect.backends.conditions import outcomes
from kvinspect.backends.expressions import evaluate
from kvinspect.document.document import GROUPS
from kvinspect.document.numbers import counted
from kvinspect.document.refusal import Refused, Unknown
from kvinspect.provenance import vllm
from kvinspect.specs.attention import AttentionSpec
from kvinspect.specs.kinds import LayerSpec
from kvinspect.specs.page_size import aligned_by_slots


@vllm("AttentionBackend.customize_spec", since="0.28", until="0.30")
def customized(spec: LayerSpec, backend: Backend) -> LayerSpec:
    """A spec with what the backend packs into its pages, 0.28 on (`AttentionBackend.customize_spec`).

    Raises Refused where the backend cannot pack the spec, Unknown where what it packs depends on more than a document
    says.
    """
    if not spec.is_attention:
        return spec
    rules = backend.entry.get("customize_spec", [])
    facts = {**backend.facts, "kv_quant_mode": spec.kv_quant_mode}
    rule = next((value for value, needed in outcomes(rules, facts) if not needed), None)
    return spec if rule is None else _packed(spec, rule, backend)


@vllm("customize_attention_spec", "AttentionBackend.customize_spec", since="0.33")
def customized_splittable(spec: LayerSpec, backend: Backend) -> LayerSpec:
    """Like `customized`, and blocks that kernels of fixed sizes split stay whole ones apart (0.33)."""
    spec = customized(spec, backend)
    sizes = backend.sizes_for(spec)
    if not spec.is_attention or spec.block_stride_alignment is not None:
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
    return rule if rule.endswith("n") else evaluate(rule, {"state_content_size_bytes": spec.content_bytes})
