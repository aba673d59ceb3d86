"""The single changes that a refused or tight plan names: each one works when it is typed."""

import json
import shlex

import pytest

import kvinspect
from kvinspect.api.would_fit import would_fit
from kvinspect.bundled.lookup import bundled, bundled_names
from kvinspect.hardware.gpus import parse_gpus
from kvinspect.models.memory import Memory
from kvinspect.question.change import Change
from kvinspect.question.memory import Budget, ServedModel, memory_of
from kvinspect.question.siblings import quantized_siblings
from kvinspect.question.would_fit import MOST, MOST_PLANS, _Budget

CALLS = [
    ("Qwen/Qwen3-32B", "--gpu", "H100"),
    ("Qwen/Qwen3-32B", "--gpu", "L4"),
    ("deepseek-ai/DeepSeek-V3", "--gpu", "8xH100"),
    ("Qwen/Qwen3-32B", "--gpu", "H100", "--requests", "8", "--prompt", "8k", "--output", "1k"),
    ("google/gemma-3-27b-it", "--gpu", "2xL4", "--max-model-len", "64k"),
    ("examples/models/qwen3-8b", "--available-kv-cache-memory", "3GiB"),
    ("Qwen/Qwen3-32B", "--gpu", "RTX 4090", "--max-model-len", "8k"),
]


def planned(run, *words):
    done = run("plan", *words, "-f", "json")
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("words", CALLS, ids=" ".join)
def test_each_change_works_when_it_is_typed(run, words):
    code, found = planned(run, *words)
    assert code == 1
    assert 0 < len(found["would_fit"]) <= MOST
    verdicts = [one["verdict"] for one in found["would_fit"]]
    assert verdicts == sorted(verdicts)
    assert verdicts[0] == "fits"
    for one in found["would_fit"]:
        model, flags = (one["model"], []) if one["model"] else (words[0], shlex.split(one["flags"]))
        code, again = planned(run, model, *words[1:], *flags)
        assert code == 0 if one["verdict"] == "fits" else again["fit"] != "does not fit"
        assert again["max_model_len"] == one["max_model_len"]
        assert "would_fit" not in again or one["verdict"] == "tight"


def test_one_that_fits_or_is_refused_for_another_reason_lists_nothing(run):
    assert "would_fit" not in planned(run, "Qwen/Qwen3-32B", "--gpu", "2xH100")[1]
    table = run("plan", "Qwen/Qwen3-32B", "--gpu", "2xH100").stdout
    assert "What would fit" not in table
    assert "What would fit (each planned again):" in run("plan", "Qwen/Qwen3-32B", "--gpu", "H100").stdout


def test_given_memory_is_changed_by_no_flag(run):
    flags = [one["flags"].split()[0] for one in planned(run, *CALLS[5])[1]["would_fit"]]
    assert set(flags) <= {"--kv-cache-dtype", "--max-model-len"}


def test_heads_that_cannot_be_divided_are_not_proposed(tmp_path, run):
    config = {**bundled("Qwen/Qwen3-32B").config, "num_attention_heads": 20, "num_key_value_heads": 4}
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    found = planned(run, file, "--gpu", "L4")[1]["would_fit"]
    assert found
    assert not any("-tp 8" in one["flags"] for one in found)


@pytest.mark.parametrize(
    "extra", [["--weights", "60GiB"], ["-tp", "2"], ["-dp", "2"], ["--gpu-memory-utilization", "0.95"]]
)
def test_what_a_call_says_is_kept(run, extra):
    code, found = planned(run, "Qwen/Qwen3-32B", "--gpu", "L4", *extra)
    assert code == 1
    if extra[0] == "--weights":
        assert not any(one["model"] for one in found["would_fit"])
    if extra[0] == "--gpu-memory-utilization":
        assert not any(extra[0] in one["flags"] for one in found["would_fit"])
    if extra[0] == "-dp":
        assert all(f"{2 * 4}x" in one["flags"] for one in found["would_fit"] if "-tp 4" in one["flags"])


def test_more_sequences_where_they_are_what_limits_the_requests(run):
    words = ("--requests", "64", "--prompt", "1k", "--output", "1k", "--max-num-seqs", "16")
    found = planned(run, "Qwen/Qwen3-8B", "--gpu", "H100", *words)[1]
    assert "--max-num-seqs 64" in [one["flags"] for one in found["would_fit"]]


def test_no_more_plans_than_the_limit():
    asked = []

    def again(change):
        asked.append(change)
        raise ValueError

    budget = _Budget(again)
    assert [budget.plan(Change("")) for _ in range(3 * MOST_PLANS)] == [None] * 3 * MOST_PLANS
    assert len(asked) == MOST_PLANS


def test_siblings_are_the_same_model():
    assert quantized_siblings("Qwen3-32B")[0] == "Qwen/Qwen3-32B-FP8"
    assert quantized_siblings("Qwen/Qwen3-32B-FP8") == ()
    for hostile in ("", "/", "Qwen/", "-fp8", "no/such", ".*", "\x00", "Qwen/Qwen3-32B(" * 50):
        assert quantized_siblings(hostile) == ()
    for name in bundled_names():
        for other in quantized_siblings(name):
            assert bundled(name).config["architectures"] == bundled(other).config["architectures"]


def test_from_python():
    gpus = parse_gpus("H100")

    def memory(model, arguments):
        return memory_of(Budget(gpus=gpus), arguments, None, ServedModel(model, None, "cuda", "9.0"))

    config = bundled("Qwen/Qwen3-32B").config
    flags = [one.change.flags for one in would_fit(config, memory)]
    assert "--kv-cache-dtype fp8" in flags
    assert would_fit(config, memory, engine_args={"tensor_parallel_size": 4}) == ()
    given = would_fit(config, lambda model, arguments: Memory(4 << 30, "given"))
    assert [one.change.flags.split()[0] for one in given] == ["--max-model-len"]
    assert kvinspect.plan_model(config, 4 << 30).would_fit is None
