"""What `plan` allocates is what `align` finds in the document that the plan writes, on every release.

Both ask the same placement of the release; what they give it they work out on roads of their own.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kvinspect
from kvinspect.data.catalogue import versions
from kvinspect.planning.inspection import inspection_document

RELEASES = tuple(version.rsplit(".", 1)[0] for version in versions())
GIB = 1 << 30
ATTENTION = {"block_size": 16, "num_kv_heads": 8, "head_size": 128, "dtype": "bfloat16", "backend": "TRITON_ATTN"}
LATENT = {"block_size": 64, "num_kv_heads": 1, "head_size": 576, "dtype": "bfloat16", "backend": "TRITON_MLA"}
KINDS = {
    "full": {**ATTENTION, "kind": "full_attention"},
    "window": {**ATTENTION, "kind": "sliding_window", "sliding_window": 1024},
    "narrow": {**ATTENTION, "kind": "full_attention", "num_kv_heads": 4},
    "chunked": {**ATTENTION, "kind": "chunked_local_attention", "attention_chunk_size": 8192},
    "latent": {**LATENT, "kind": "mla_attention"},
    "states": {"kind": "mamba", "block_size": 16, "shapes": [[2, 4096], [8, 128, 64]],
               "dtypes": ["bfloat16", "float32"], "page_size_padded": 1 << 19},
}  # fmt: skip

counts = st.dictionaries(st.sampled_from(sorted(KINDS)), st.integers(1, 9), min_size=1, max_size=3)


def planned(release, layers, memory=GIB):
    specs = {f"{kind}.{{0..{number - 1}}}": KINDS[kind] for kind, number in layers.items()}
    longest = {"max_model_len": 4096, "num_attention_heads": 8}
    return kvinspect.plan(
        {"engine": release, "kv_cache_specs": specs, "available_memory": [memory], "model_config": longest}
    )


def placement(answer, keys):
    return [{key: tensor[key] for key in keys if key in tensor} for tensor in answer]


def assert_placed_as_planned(answer):
    tensors = answer.to_dict()["kv_cache_tensors"]
    aligned = kvinspect.align(inspection_document(answer)).to_dict()
    keys = ("size", "shared_by", "layers", "layer_stride", "offset", "block_stride")
    found = placement(aligned["tensors"], tensors[0])
    assert found == placement(tensors, keys)
    assert aligned["num_blocks"] == answer.num_blocks
    return aligned


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("kinds", [("full",), ("full", "window"), ("full", "chunked"), ("latent",)], ids="-".join)
def test_each_kind_of_cache(release, kinds):
    answer = planned(release, dict(zip(kinds, (2, 5), strict=False)))
    assert answer.refusal is None
    aligned = assert_placed_as_planned(answer)
    assert aligned["sound"] is True


@pytest.mark.parametrize("release", RELEASES)
@settings(max_examples=25, deadline=None)
@given(layers=counts, memory=st.sampled_from([GIB, 3 * GIB + 12345]))
def test_drawn_models(release, layers, memory):
    answer = planned(release, layers, memory)
    if answer.refusal is None:
        assert_placed_as_planned(answer)


@pytest.mark.parametrize("release", RELEASES)
def test_most_drawn_kinds_are_planned(release):
    """Else the test above would hold for want of plans."""
    alone = [kind for kind in KINDS if planned(release, {kind: 3}).refusal is None]
    assert set(alone) >= set(KINDS) - {"chunked"}


def test_heads_of_a_plan_are_those_of_its_layers():
    """FlashInfer's large blocks on Blackwell want query heads that divide by KV heads, as 8 and 3 do not."""
    spec = {**ATTENTION, "kind": "full_attention", "num_kv_heads": 3, "block_size": 1024, "backend": "FLASHINFER"}
    document = {
        "engine": "0.33.0",
        "device_capability": "10.0",
        "available_memory": [10**9],
        "kv_cache_specs": {"a": spec},
    }
    asked = {heads: {**document, "model_config": {"num_attention_heads": heads}} for heads in (8, 6)}
    found = {heads: kvinspect.plan(one).to_dict()["groups"][0]["kv_cache_spec"] for heads, one in asked.items()}
    assert {heads: spec["block_stride_alignment"] for heads, spec in found.items()} == {8: "64n", 6: "1024n"}
