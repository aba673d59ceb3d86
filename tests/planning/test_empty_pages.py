"""Pages of 0 bytes: the engine divides by them, so that it refuses; nothing here divides by zero."""

import pytest

import kvinspect
from kvinspect.data.catalogue import versions

SMALL = {"block_size": 16, "num_kv_heads": 1, "head_size": 1, "dtype": "int8"}
EMPTY = {**SMALL, "kind": "full_attention", "kv_quant_mode": "INT4_PER_TOKEN_HEAD"}
SPECS = {
    "int4": EMPTY,
    "latent int4": {**SMALL, "kind": "mla_attention", "kv_quant_mode": "INT4_PER_TOKEN_HEAD"},
    "compressed": {**SMALL, "kind": "mla_attention", "compress_ratio": 64},
    "of many tokens": {**SMALL, "kind": "mla_attention", "tokens_per_state": 64},
    "hidden": {**SMALL, "kind": "hidden_state_cache", "head_size": 64, "dtype": "bfloat16"},
    "a window": {**SMALL, "kind": "sliding_window", "sliding_window": 4, "kv_quant_mode": "NVFP4"},
    "plain": {**SMALL, "kind": "full_attention"},
}


@pytest.mark.parametrize("memory", [0, 1000, 10**9])
@pytest.mark.parametrize("first", SPECS)
@pytest.mark.parametrize("release", versions())
def test_a_page_of_no_bytes_is_planned_or_refused(release, first, memory):
    for second in SPECS.values():
        specs = {"l.0": SPECS[first], "l.1": second}
        answer = kvinspect.plan({"engine": release, "available_memory": [memory], "kv_cache_specs": specs})
        assert answer.refusal is not None or answer.num_blocks is not None
