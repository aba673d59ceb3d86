"""What a call gives and the numbers leave out is said: in the verdict, as data, and by the exit code."""

import json
import re

import pytest

import kvinspect
from kvinspect.document.problem import DocumentError

DENSE = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": 4096, "num_hidden_layers": 8,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "max_position_embeddings": 40960,
    "vocab_size": 1000, "torch_dtype": "bfloat16",
}  # fmt: skip
GIVEN = ("--engine", "0.28", "--max-model-len", "8192", "--kv-cache-memory-bytes", "2G")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(DENSE))
    return str(path)


def names(**given):
    return [one.name for one in kvinspect.plan_model(DENSE, 1 << 31, engine="0.28", **given).plan.not_modelled]


def test_what_counts_is_not_named():
    assert names(engine_args={"max_model_len": 8192, "seed": 3, "model_impl": "auto"}) == []


def test_flags_keys_and_variables_are_named_as_they_are_written():
    speculative = {"method": "ngram", "num_speculative_tokens": 2, "revision": "v2"}
    given = {"worker_cls": "my.Worker", "speculative_config": speculative}
    found = names(engine_args=given, env={"VLLM_PLUGINS": "mine", "VLLM_LOGGING_LEVEL": "DEBUG"})
    assert found == ["--worker-cls", "--speculative-config.revision", "VLLM_PLUGINS"]


def test_a_draft_that_is_not_there_makes_the_number_an_upper_bound(run, model):
    draft = '{"method": "dflash", "model": "nobody/dflash", "num_speculative_tokens": 4}'
    result = run("plan", model, *GIVEN, "--speculative-config", draft)
    assert result.returncode == 0
    said = result.stdout.splitlines()[0]
    assert said.startswith("≤ ")
    assert "4,096 blocks); not counted: the layers of the dflash draft nobody/dflash" in said


def test_strict_ends_with_2_and_a_check_mark_means_that_all_counts(run, model):
    result = run("plan", model, *GIVEN, "--scheduler-cls", "my.Scheduler", "--strict")
    assert result.returncode == 2
    assert re.match("≈ .*4,096 blocks\\); not counted: a scheduler of your own\n", result.stdout)
    result = run("plan", model, *GIVEN, "--strict")
    assert result.returncode == 0
    assert re.match("✓ .*4,096 blocks\\)\n", result.stdout)


def test_memory_that_is_given_makes_nothing_of_what_an_estimate_leaves_out(run, model):
    offloaded = ("--cpu-offload-gb", "4", "--strict")
    assert run("plan", model, *GIVEN, *offloaded).returncode == 0
    estimated = run("plan", model, "--gpu-memory", "80GiB", "--weights", "16GB", *offloaded)
    assert estimated.returncode == 2


def test_a_sweep_says_it_too(run, model):
    result = run("plan", model, *GIVEN, "--worker-cls", "my.Worker", "--sweep", "max_num_seqs=1,2", "--strict")
    assert result.returncode == 2
    assert result.stdout.startswith("≈ All 2 plans fit;")
    assert "not counted: a worker of your own" in result.stdout.splitlines()[0]


def test_a_variable_before_a_command_counts_as_one_of_env(run, model):
    result = run("plan", "VLLM_PLUGINS=mine", "vllm", "serve", model, *GIVEN, "-f", "json")
    assert [one["name"] for one in json.loads(result.stdout)["not_modelled"]] == ["VLLM_PLUGINS"]


def test_a_variable_that_the_release_does_not_read_is_an_error(run, model):
    with pytest.raises(DocumentError, match=r"VLLM_PLUGIN: is no variable of vLLM 0\.28\.0; did you mean VLLM_PLUGINS"):
        names(env={"VLLM_PLUGIN": "x"})
    assert run("plan", model, *GIVEN, "--env", "VLLM_PLUGIN=x").returncode == 2
    assert run("plan", model, *GIVEN, "--env", "nothing").returncode == 2


def test_the_variables_of_the_process_are_not_read(run, model, monkeypatch):
    monkeypatch.setenv("VLLM_PLUGINS", "mine")
    assert run("plan", model, *GIVEN, "--strict").returncode == 0


@pytest.mark.parametrize(
    ("given", "graphs"),
    [
        ({"optimization_level": "1"}, {"cudagraph_mode": "PIECEWISE"}),
        ({"optimization_level": "3"}, None),
        ({"optimization-level": 0, "compilation_config": {"cudagraph_mode": "FULL"}}, {"cudagraph_mode": "FULL"}),
        ({"cudagraph_capture_sizes": [1, 2]}, {"cudagraph_capture_sizes": [1, 2]}),
    ],
)
def test_flags_that_set_a_key_of_compilation_count(given, graphs):
    answer = kvinspect.plan_model(DENSE, 1 << 31, engine="0.28", engine_args=given).plan
    assert answer.planning.get("compilation_config") == graphs


def test_flags_that_set_a_key_of_the_draft_count_and_none_is_said_twice():
    answer = kvinspect.plan_model(DENSE, 1 << 31, engine="0.28", engine_args={"spec_method": "ngram", "spec_tokens": 3})
    planned = answer.plan.planning["speculative_config"]
    assert (planned["num_speculative_tokens"], planned["method"]) == (3, "ngram")
    twice = {"spec_tokens": 3, "speculative_config": {"method": "ngram", "num_speculative_tokens": 2}}
    with pytest.raises(DocumentError, match="--spec-tokens and num_speculative_tokens of --speculative-config"):
        kvinspect.plan_model(DENSE, 1 << 31, engine="0.28", engine_args=twice)
