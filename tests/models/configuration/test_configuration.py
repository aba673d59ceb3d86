"""What the engine's configuration refuses is refused, and nothing else, in the releases that do so.

`start_ups.jsonl` has calls with what the real `EngineArgs.create_engine_config` and model classes of each release said:
`stops` in the configuration, or `starts`.
"""

import json
import pathlib

import pytest

import kvinspect
from kvinspect.document.problem import DocumentError
from kvinspect.models.configuration.check import RULES
from kvinspect.provenance import sources_of

HERE = pathlib.Path(__file__).parent
MODELS = json.loads((HERE / "models.json").read_text(encoding="utf-8"))
CALLS = [json.loads(line) for line in (HERE / "start_ups.jsonl").read_text(encoding="utf-8").splitlines()]


def stopped(model, arguments, release, **device):
    """The messages of what stops the engine before it captures graphs, which is no work of its configuration."""
    try:
        plan = kvinspect.plan_model(MODELS[model], 1 << 35, engine=release, engine_args=arguments, **device).plan
    except DocumentError as error:
        return [problem.message for problem in error.errors]
    return [plan.refusal.text] if plan.refusal and plan.refusal.stage != "graphs" else []


@pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call['model']}-{json.dumps(call['engine_args'])[:60]}")
def test_as_the_engine_of_each_release(call):
    said = {
        release: "stops" if stopped(call["model"], call["engine_args"], release) else "starts"
        for release in call["engine"]
    }
    assert said == call["engine"]


def test_each_rule_says_which_releases_have_it():
    assert [rule.__qualname__ for rule in RULES if not sources_of(rule)] == []


@pytest.mark.parametrize(
    ("model", "arguments", "release", "said"),
    [
        ("latent", {"cp_kv_cache_interleave_size": 96, "block_size": 64}, "0.33", "no multiple of runs of 96 tokens"),
        ("latent", {"dcp_kv_cache_interleave_size": 48, "block_size": 64}, "0.25", "no multiple of runs of 48 tokens"),
        ("latent", {"cp_kv_cache_interleave_size": 64, "block_size": 64}, "0.33", ""),
    ],
)
def test_what_is_refused_once_the_block_size_is_known(model, arguments, release, said):
    found = stopped(model, {"tensor_parallel_size": 8, "decode_context_parallel_size": 2, **arguments}, release)
    assert bool(found) == bool(said)
    assert said in "".join(found)


def test_states_that_are_aligned_need_inputs_that_may_be_cut():
    given = {"enable_prefix_caching": True, "disable_chunked_mm_input": True, "max_model_len": 8192}
    assert "disable_chunked_mm_input" in stopped("hybrid", given, "0.33")[0]
    assert not stopped("hybrid", given | {"enable_prefix_caching": False}, "0.33")


@pytest.mark.parametrize(
    "given", [{"max_num_batched_tokens": 512, "max_num_seqs": 128}, {"long_prefill_token_threshold": 512}]
)
def test_up_to_0_26_a_block_of_aligned_states_is_one_batch(given):
    given = {"enable_prefix_caching": True, "max_model_len": 8192, **given}
    assert "the block size 784, to which states are aligned" in stopped("hybrid", given, "0.26")[0]
    assert not stopped("hybrid", given, "0.27")


def test_bfloat16_on_a_device_that_has_none():
    assert "take float16" in stopped("dense", {"dtype": "bfloat16"}, "0.33", device_capability="7.5")[0]
    assert not stopped("dense", {"dtype": "float16"}, "0.33", device_capability="7.5")


def test_a_runner_of_the_environment_that_cannot_draft_so():
    ngram = {"speculative_config": {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 3}}
    with pytest.raises(DocumentError, match="model runner v2, which VLLM_USE_V2_MODEL_RUNNER names, does not support"):
        kvinspect.plan_model(
            MODELS["dense"], 1 << 35, engine="0.28", engine_args=ngram, env={"VLLM_USE_V2_MODEL_RUNNER": "1"}
        )


def test_all_that_is_refused_is_said_at_once():
    given = {"max_num_batched_tokens": 128, "max_num_seqs": 256, "enable_expert_parallel": True}
    assert len(stopped("dense", given, "0.33")) == 2


@pytest.mark.parametrize("command", ["plan", "align", "cg-support"])
def test_every_command_about_a_model_ends_with_1(run, tmp_path, command):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(MODELS["dense"]))
    memory = ("--kv-cache-memory-bytes", "2G")
    result = run(command, str(path), *memory, "--engine", "0.33", "--max-num-batched-tokens", "128")
    assert result.returncode == 0
    more = ("--max-num-batched-tokens", "128", "--max-num-seqs", "256")
    result = run(command, str(path), *memory, "--engine", "0.33", *more)
    assert result.returncode == 1, result.stderr
    assert "the engine stops: max_num_batched_tokens 128 is below max_num_seqs 256" in result.stderr
