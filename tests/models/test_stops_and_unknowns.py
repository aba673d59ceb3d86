"""What the engine refuses ends with 1, what kvinspect does not know with 2, whichever module finds it."""

import json

import pytest

import kvinspect
from conftest import ROOT

CASES = ROOT / "tests" / "cases" / "reports"
STOPS = {
    "longer than the model's": ("dense", {"max_model_len": 100_000}, {}),
    "cannot be divided among tensor_parallel_size": ("dense", {"tensor_parallel_size": 3}, {}),
    "unless a plugin registers one": ("dense", {"attention_backend": "CUSTOM"}, {}),
    "do not run in float16": ("windows", {"dtype": "float16"}, {}),
    "enable_prefix_caching only": ("hybrid", {"mamba_block_size": 16, "enable_prefix_caching": False}, {}),
    "needs tensor_parallel_size above": ("dense", {"decode_context_parallel_size": 2}, {}),
    "use_replayssm is for Nemotron-H": ("hybrid", {"use_replayssm": True}, {}),
    "layer": ("dense", {"pipeline_parallel_size": 2}, {"VLLM_PP_LAYER_PARTITION": "1,2"}),
    "are not taken together": (
        "dense",
        {"compilation_config": {"cudagraph_capture_sizes": [1]}, "cudagraph_capture_sizes": [2]},
        {},
    ),
}
UNKNOWN = {
    "knows no draft": ("dense", {"speculative_config": {"method": "mtp", "num_speculative_tokens": 1}}, {}),
    "XATTN": ("dense", {"attention_backend": "XATTN"}, {}),
}


def problems(name, given, env):
    with pytest.raises(kvinspect.DocumentError) as error:
        kvinspect.plan_model(CASES / name, 8 << 30, engine="0.33", engine_args=given, env=env)
    return error.value.errors


@pytest.mark.parametrize("said", STOPS)
def test_what_the_engine_refuses_is_a_stop(said):
    found = problems(*STOPS[said])
    assert [one.kind for one in found] == ["stopped"]
    assert said in str(found[0])


@pytest.mark.parametrize("said", UNKNOWN)
def test_what_is_not_known_is_none(said):
    found = problems(*UNKNOWN[said])
    assert "stopped" not in {one.kind for one in found}
    assert said in str(found[0])


@pytest.mark.parametrize(("words", "code"), [(("--max-model-len", "100000"), 1), (("--attention-backend", "XATTN"), 2)])
@pytest.mark.parametrize("command", ["plan", "cg-support", "map"])
def test_every_command_about_a_model_ends_alike(command, words, code, run):
    done = run(command, CASES / "dense", "--kv-cache-memory-bytes", "4G", *words)
    assert (done.returncode, done.stdout) == (code, "")


def test_sparse_caches_that_are_not_known_are_no_refusal_of_the_engine(tmp_path):
    config = json.loads((CASES / "hybrid" / "config.json").read_text())
    text = {**config["text_config"], "model_type": "qwen4_exp_text", "indexer_n_heads": 4}
    (tmp_path / "config.json").write_text(json.dumps({**text, "architectures": ["Qwen4ExpForCausalLM"]}))
    with pytest.raises(kvinspect.DocumentError) as error:
        kvinspect.plan_model(tmp_path, 8 << 30, engine="0.33", engine_args={})
    assert [one.kind for one in error.value.errors] == ["unknown-architecture"]


QUANTIZATIONS = {
    "fp8": ({"quant_method": "fp8"}, True),
    "modelopt": ({"quant_method": "modelopt", "quant_algo": "FP8"}, True),
    "a cache with a scheme": ({"quant_method": "compressed-tensors", "kv_cache_scheme": {"num_bits": 8}}, True),
    "weights alone": ({"quant_method": "compressed-tensors", "kv_cache_scheme": None}, False),
    "awq": ({"quant_method": "awq"}, False),
    "none": (None, False),
}


@pytest.mark.parametrize("name", QUANTIZATIONS)
def test_a_cache_of_e5m2_does_not_go_with_scales_of_the_checkpoint(name):
    quantization, stops = QUANTIZATIONS[name]
    model = json.loads((CASES / "dense" / "config.json").read_text(encoding="utf-8"))
    model |= {"quantization_config": quantization} if quantization else {}

    def asked(dtype):
        return kvinspect.plan_model(
            model, 8 << 30, engine="0.33", engine_args={"kv_cache_dtype": dtype, "attention_backend": "TRITON_ATTN"}
        )

    assert asked("fp8_e4m3").plan.starts
    if not stops:
        assert asked("fp8_e5m2").plan.starts
        return
    with pytest.raises(kvinspect.DocumentError, match="does not go with the scales") as error:
        asked("fp8_e5m2")
    assert [problem.kind for problem in error.value.errors] == ["stopped"]
