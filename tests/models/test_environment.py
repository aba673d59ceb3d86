"""Variables that decide something about the cache, given with the call."""

import pathlib

import pytest

import kvinspect
from conftest import ROOT
from kvinspect.document.problem import DocumentError

WINDOWS = pathlib.Path(ROOT, "tests", "cases", "connectors", "windows.json")


def plan(env, engine="0.28", **arguments):
    return kvinspect.plan_model(WINDOWS, 4 << 30, engine=engine, engine_args=arguments, env=env)


def test_a_longer_context_than_the_models_is_let_pass():
    with pytest.raises(DocumentError, match="longer than the model's"):
        plan({}, max_model_len=400_000)
    found = plan({"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}, max_model_len=140_000).plan
    assert found.deployment.max_model_len == 140_000
    assert not found.not_modelled


def test_pipeline_stages_are_cut_by_hand():
    stages = plan({"VLLM_PP_LAYER_PARTITION": "20,4"}, pipeline_parallel_size=2, max_model_len=8192).stages
    assert [len(stage.layers) for stage in stages] == [20, 4]
    for wrong in ("20,5", "24", "a,b", "-1,25", ""):
        with pytest.raises(DocumentError, match="VLLM_PP_LAYER_PARTITION: it does not cut 24 layers into 2 stages"):
            plan({"VLLM_PP_LAYER_PARTITION": wrong}, pipeline_parallel_size=2, max_model_len=8192)


def test_the_layout_and_the_runner_are_those_that_are_asked_for():
    found = plan({"VLLM_KV_CACHE_LAYOUT": "HND", "VLLM_USE_V2_MODEL_RUNNER": "0"}, max_model_len=8192).plan
    assert (found.planning["kv_cache_layout"], found.setting.model_runner) == ("HND", "v1")
    assert plan({"VLLM_USE_V2_MODEL_RUNNER": "1"}, max_model_len=8192).plan.setting.model_runner == "v2"
