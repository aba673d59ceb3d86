"""Workers list the layouts that their backends read, and the engine stops where the lists differ (0.29 on)."""

import pytest

import kvinspect

SPEC = {"kind": "full_attention", "block_size": 16, "num_kv_heads": 8, "head_size": 64, "dtype": "bfloat16"}


def plan(engine, first, second, **more):
    document = {
        "engine": engine,
        "device_capability": "10.0",
        "available_memory": [1 << 30, 1 << 30],
        "worker_layers": [["a.0"], ["a.1"]],
        "model_config": {"max_model_len": 1024},
        "kv_cache_specs": {"a.0": {**SPEC, "backend": first}, "a.1": {**SPEC, "backend": second}},
        **more,
    }
    return kvinspect.plan(document)


@pytest.mark.parametrize("engine", ["0.29", "0.30", "0.33"])
def test_stages_whose_backends_read_other_layouts_are_refused(engine):
    refusal = plan(engine, "FLASHINFER", "TRITON_ATTN").refusal
    assert (refusal.type, refusal.function) == ("AssertionError", "resolve_kv_cache_layout")
    assert "LBHNC, BLHNC; LBNHC" in refusal.text
    asked = plan(engine, "FLASHINFER", "TRITON_ATTN", kv_cache_layout="LBHNC").refusal
    assert asked.kind == "workers-disagree"


@pytest.mark.parametrize("engine", ["0.28", "0.29", "0.33"])
def test_stages_that_are_alike_are_not(engine):
    assert plan(engine, "FLASHINFER", "FLASHINFER").refusal is None
    assert plan(engine, "TRITON_ATTN", "FLASH_ATTN").refusal is None


def test_up_to_0_28_each_backend_has_its_own():
    assert plan("0.28", "FLASHINFER", "TRITON_ATTN").refusal is None
