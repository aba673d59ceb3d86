"""A plan is refused where the engine would stop at the graphs that are asked for."""

import pytest

import kvinspect

LATENT = {
    "architectures": ["DeepseekV3ForCausalLM"], "model_type": "deepseek_v3", "hidden_size": 7168,
    "num_hidden_layers": 2, "num_attention_heads": 128, "num_key_value_heads": 128, "vocab_size": 1000,
    "max_position_embeddings": 8192, "torch_dtype": "bfloat16", "kv_lora_rank": 512, "q_lora_rank": 1536,
    "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 256,
    "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_intermediate_size": 2048, "intermediate_size": 18432,
    "first_k_dense_replace": 1, "num_nextn_predict_layers": 1,
}  # fmt: skip


def plan(sizes, tokens=3, **more):
    draft = {"method": "mtp", "num_speculative_tokens": tokens}
    given = {"speculative_config": draft, "compilation_config": {"cudagraph_capture_sizes": sizes}, **more}
    return kvinspect.plan_model(LATENT, 1 << 35, engine="0.28", engine_args=given, env=V1).plan


V1 = {"VLLM_USE_V2_MODEL_RUNNER": "0"}


@pytest.mark.parametrize(("sizes", "tokens", "starts"), [([1, 2], 3, False), ([1, 4], 3, True), ([1, 2], 1, True)])
def test_a_plan_is_refused_where_no_size_is_a_whole_decode(sizes, tokens, starts):
    answer = plan(sizes, tokens)
    assert answer.clean is starts
    if not starts:
        assert (answer.refusal.stage, answer.refusal.type) == ("graphs", "ValueError")
        assert "no capture size up to 2 is a multiple of 4 tokens" in answer.refusal.text


def test_without_graphs_nothing_is_refused():
    assert plan([1, 2], enforce_eager=True).clean
