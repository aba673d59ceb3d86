"""From layers to specs: backends, block sizes, windows, stages, and the planning document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kvinspect
from kvinspect.backends.backend import Backend
from kvinspect.models.arguments import engine_arguments
from kvinspect.models.block_size import preferred_block_size, window_block_size
from kvinspect.models.config import load_model
from kvinspect.models.registry import architecture
from kvinspect.models.setting import settle
from kvinspect.releases import lookup

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 6,
    "num_attention_heads": 8, "num_key_value_heads": 4, "max_position_embeddings": 4096, "torch_dtype": "bfloat16",
}  # fmt: skip
GEMMA2 = {
    "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2", "hidden_size": 512, "num_hidden_layers": 4,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128, "sliding_window": 64, "torch_dtype": "bfloat16",
}  # fmt: skip


def asked(config, engine="0.27", capability="9.0", stage=0, **arguments):
    return kvinspect.specs(config, engine=engine, device_capability=capability, engine_args=arguments, stage=stage)


def setting_of(config, engine="0.27.1", **arguments):
    model, given_arguments = load_model(config), engine_arguments(arguments)
    known = architecture(model, engine, given_arguments.runner)
    return settle(model, lookup.release(engine), "cuda", "9.0", given_arguments, known)


def backends_of(answer):
    return {row["backend"] for row in answer.to_dict()["layers"]}


def test_alike_neighbours_share_a_row():
    rows = asked(LLAMA).to_dict()["layers"]
    assert len(rows) == 1
    assert rows[0]["layer_names"] == [f"model.layers.{i}.self_attn.attn" for i in range(6)]
    assert rows[0]["kv_cache_spec"]["page_size_bytes"] == 16 * 4 * (64 + 64) * 2


def test_windows_take_turns():
    rows = asked(GEMMA2).to_dict()["layers"]
    assert [row["kv_cache_spec"]["type"] for row in rows] == ["SlidingWindowSpec", "FullAttentionSpec"] * 2
    assert rows[0]["kv_cache_spec"]["sliding_window"] == 64


def test_windows_that_the_user_switches_off():
    answer = asked(GEMMA2, disable_sliding_window=True)
    assert {row["kv_cache_spec"]["type"] for row in answer.to_dict()["layers"]} == {"FullAttentionSpec"}
    assert answer.to_dict()["max_model_len"] == 64


def test_the_users_block_size_is_not_that_of_windows():
    rows = asked(GEMMA2, block_size=64).to_dict()["layers"]
    assert {row["kv_cache_spec"]["type"]: row["kv_cache_spec"]["block_size"] for row in rows} == {
        "SlidingWindowSpec": 16,
        "FullAttentionSpec": 64,
    }


def test_layers_that_are_left_unquantised_get_a_page_of_the_same_size():
    answer = asked(LLAMA, kv_cache_dtype="fp8", kv_cache_dtype_skip_layers=["0"]).to_dict()
    first, others = answer["layers"]
    assert first["kv_cache_spec"]["dtype"] == "bfloat16"
    assert others["kv_cache_spec"]["dtype"] == "uint8"
    assert answer["block_size"] == 32


@pytest.mark.parametrize(
    ("capability", "arguments", "backend"),
    [
        ("9.0", {}, "FLASH_ATTN"),
        ("8.0", {}, "FLASH_ATTN"),
        ("10.0", {}, "FLASHINFER"),
        ("7.5", {}, "TRITON_ATTN"),
        ("9.0", {"attention_backend": "TRITON_ATTN"}, "TRITON_ATTN"),
        ("9.0", {"attention_backend": "auto"}, "FLASH_ATTN"),
        ("8.9", {"kv_cache_dtype": "fp8"}, "FLASHINFER"),
        ("9.0", {"kv_cache_dtype": "fp8_e5m2"}, "FLASHINFER"),
        ("9.0", {"kv_cache_dtype": "int8_per_token_head"}, "TRITON_ATTN"),
    ],
)
def test_the_backend_of_a_plain_model(capability, arguments, backend):
    assert backends_of(asked(LLAMA, capability=capability, **arguments)) == {backend}


def test_a_choice_says_what_was_passed_over():
    choice = asked(LLAMA, kv_cache_dtype="int8_per_token_head").layers[0].backend
    assert [passed.backend for passed in choice.passed_over] == ["FLASH_ATTN", "FLASHINFER"]
    assert all("cache dtype" in " ".join(passed.reasons) for passed in choice.passed_over)


def test_a_backend_that_does_not_take_the_layers():
    with pytest.raises(kvinspect.DocumentError, match="FLASH_ATTN does not support KV cache dtype int8_per_token_head"):
        asked(LLAMA, attention_backend="FLASH_ATTN", kv_cache_dtype="int8_per_token_head")


def test_triton_stops_with_fp8_on_old_devices():
    with pytest.raises(kvinspect.DocumentError, match=r"no fp8 cache on compute capability 8\.0"):
        asked({**LLAMA, "head_dim": 80}, capability="8.0", kv_cache_dtype="fp8")


@pytest.mark.parametrize(("capability", "dtype"), [("9.0", "bfloat16"), ("7.5", "float16")])
def test_a_dtype_that_fits_the_device(capability, dtype):
    config = {key: value for key, value in LLAMA.items() if key != "torch_dtype"}
    assert asked(config, capability=capability).to_dict()["dtype"] == dtype


def test_pooling_models_are_made_smaller():
    config = {**LLAMA, "architectures": ["LlamaForSequenceClassification"], "torch_dtype": "float32"}
    assert asked(config).to_dict()["dtype"] == "float16"


@pytest.mark.parametrize(
    ("quantization", "dtype"),
    [
        ({"quant_method": "modelopt", "kv_cache_quant_algo": "FP8"}, "fp8_e4m3"),
        (
            {"quant_method": "modelopt", "kv_cache_scheme": {"type": "float", "num_bits": 8, "dynamic": False}},
            "fp8_e4m3",
        ),
        ({"quant_method": "modelopt", "kv_cache_quant_algo": "INT4"}, "auto"),
        ({"quant_method": "fp8"}, "auto"),
        ({}, "auto"),
    ],
)
def test_the_cache_dtype_that_a_checkpoint_was_made_for(quantization, dtype):
    assert asked({**LLAMA, "quantization_config": quantization}).to_dict()["cache_dtype"] == dtype


def test_turboquant_leaves_both_ends_unquantised():
    rows = asked({**LLAMA, "head_dim": 128}, kv_cache_dtype="turboquant_k8v4").to_dict()["layers"]
    assert [(row["backend"], len(row["layer_names"])) for row in rows] == [
        ("FLASH_ATTN", 2),
        ("TURBOQUANT", 2),
        ("FLASH_ATTN", 2),
    ]
    assert rows[1]["kv_cache_spec"]["tq_slot_size"] == 128 + 64 + 4


def test_stages_share_the_layers_out():
    names = [[layer.name for layer in asked(LLAMA, pipeline_parallel_size=4, stage=i).layers] for i in range(4)]
    assert [len(stage) for stage in names] == [1, 2, 2, 1]
    assert [name for stage in names for name in stage] == [layer.name for layer in asked(LLAMA).layers]


def test_encoders_keep_no_cache():
    answer = asked({**LLAMA, "is_causal": False}).to_dict()
    assert answer["layers"] == []
    assert len(answer["no_cache"]) == 6


def test_a_planning_document():
    document = asked(GEMMA2, tensor_parallel_size=2, num_gpu_blocks_override=7).to_planning_document([10**9])
    spec = document["kv_cache_specs"]["model.layers.1.self_attn.attn"]
    assert (spec["kind"], spec["num_kv_heads"], spec["backend"]) == ("full_attention", 1, "FLASH_ATTN")
    assert document["scheduler_config"]["max_num_batched_tokens"] == 2048
    assert document["scheduler_config"]["max_concurrent_batches"] == 2
    assert document["num_gpu_blocks_override"] == 7


def test_a_short_context_makes_small_batches():
    document = asked(LLAMA, max_model_len=8, max_num_seqs=4).to_planning_document([1])
    assert document["scheduler_config"]["max_num_batched_tokens"] == 32


def test_hybrid_prefix_caching_is_a_rule_of_the_release():
    assert not setting_of(LLAMA).is_hybrid
    assert setting_of(LLAMA).prefix_caching


@given(
    st.lists(st.sampled_from([16, 32, 64, 128]), min_size=1, unique=True), st.integers(1, 4096), st.integers(1, 10**6)
)
def test_the_block_of_a_window_fits_in_the_shared_page(sizes, token, shared):
    backend = Backend("X", "X", "x", (), {}, tuple(sizes))
    size = window_block_size(backend, token, shared)
    assert size in sizes
    assert size * token <= shared or size == min(sizes)
    assert window_block_size(backend, token, None) == min(sizes)


@pytest.mark.parametrize(("sizes", "size"), [(("16n",), 16), ((64,), 64), ((32, 64), 32), ((1,), 16), (("8n",), 16)])
def test_the_block_size_that_a_backend_prefers(sizes, size):
    assert preferred_block_size(Backend("X", "X", "x", (), {}, sizes), "cuda") == size


def test_releases_answer_apart():
    config = {**LLAMA, "layer_types": ["full_attention"] * 6, "sliding_window": 64}
    kinds = {
        engine: asked(config, engine=engine).to_dict()["layers"][0]["kv_cache_spec"]["type"]
        for engine in ("0.26", "0.27")
    }
    assert kinds == {"0.26": "SlidingWindowSpec", "0.27": "FullAttentionSpec"}


@pytest.mark.parametrize(("engine", "block"), [("0.28", 16), ("0.29", 16), ("0.30", 64), ("0.33", 64)])
def test_the_block_of_a_window_where_the_user_asks_for_longer_ones(engine, block):
    config = {
        "architectures": ["MistralForCausalLM"], "model_type": "mistral", "hidden_size": 4096, "num_hidden_layers": 2,
        "num_attention_heads": 32, "num_key_value_heads": 8, "sliding_window": 4096, "torch_dtype": "bfloat16",
        "max_position_embeddings": 32768,
    }  # fmt: skip
    found = kvinspect.specs(config, engine=engine, engine_args={"block_size": 64}).to_dict()["layers"]
    assert {row["kv_cache_spec"]["block_size"] for row in found} == {block}


@pytest.mark.parametrize(
    ("engine", "mode"), [("0.27", "TURBOQUANT"), ("0.28", "TURBOQUANT_K8V4"), ("0.33", "TURBOQUANT_K8V4")]
)
def test_turboquant_is_named_as_the_release_names_it(engine, mode):
    config = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 6,
        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 128, "torch_dtype": "bfloat16",
        "max_position_embeddings": 4096,
    }  # fmt: skip
    found = kvinspect.specs(config, engine=engine, engine_args={"kv_cache_dtype": "turboquant_k8v4"}).to_dict()[
        "layers"
    ]
    packed = [row["kv_cache_spec"] for row in found if row["backend"] == "TURBOQUANT"]
    assert {spec["kv_quant_mode"] for spec in packed} == {mode}
    assert {spec["page_size_bytes"] / spec["block_size"] for spec in packed} == {4 * 196}
