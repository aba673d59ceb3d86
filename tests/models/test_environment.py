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


@pytest.mark.parametrize("engine", ["0.25", "0.28", "0.33"])
@pytest.mark.parametrize(
    ("env", "backend"),
    [
        ({}, "TRITON_MLA"),
        ({"VLLM_ROCM_USE_AITER": "1"}, "ROCM_AITER_MLA"),
        ({"VLLM_ROCM_USE_AITER": "1", "VLLM_ROCM_USE_AITER_MLA": "0"}, "TRITON_MLA"),
        ({"VLLM_ROCM_USE_AITER_MLA": "1"}, "TRITON_MLA"),
    ],
)
def test_aiter_is_off_unless_it_is_switched_on(engine, env, backend):
    latent = {
        "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
        "num_hidden_layers": 2, "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 1000,
        "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "kv_lora_rank": 512, "q_lora_rank": 1536,
        "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
        "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048, "intermediate_size": 18432,
        "first_k_dense_replace": 1,
    }  # fmt: skip
    found = kvinspect.plan_model(latent, 1 << 34, engine=engine, engine_args={}, platform="rocm", env=env)
    assert {layer.backend.backend for stage in found.stages for layer in stage.layers} == {backend}
    assert not found.plan.not_modelled
