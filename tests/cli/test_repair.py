"""Every error about a flag ends with a call that works."""

import shlex

import pytest

from kvinspect.cli.repair import mended

MODEL = "examples/models/qwen3-8b"
PLAN = f"plan {MODEL} --gpu H100"
CALLS = {
    f"plan {MODEL}": f"{PLAN}",
    f"plan {MODEL} --gpu 2xH1000": f"plan {MODEL} --gpu 2xH100",
    f"{PLAN} --tensor-paralel-size 2": f"{PLAN} --tensor-parallel-size 2",
    f"{PLAN} --enforce-eagr": f"{PLAN} --enforce-eager",
    f"{PLAN} --nope": PLAN,
    f"{PLAN} --kv-cache-dtype=fp9": f"{PLAN} --kv-cache-dtype=fp8",
    f"{PLAN} --tensor-parallel-size 0": PLAN,
    f"{PLAN} -tp 3": PLAN,
    f"{PLAN} --max-model-len 100k": PLAN,
    f"{PLAN} --gpu-memory-utilization 2": PLAN,
    f"{PLAN} --gpu-memory-utilization": PLAN,
    f"{PLAN} --sweep max_modle_len=8k,16k": f"{PLAN} --sweep max_model_len=8k,16k",
    f"{PLAN} --requests 3": f"{PLAN} --requests 3 --prompt 8k --output 1k",
    f"{PLAN} --requests 3 --prompt 8k --sweep max_model_len=8k,16k": f"{PLAN} --requests 3 --prompt 8k",
    f"{PLAN} -f svg": f"{PLAN} -f svg --sweep max_num_seqs=64,128,256",
    "plan Qwen/Qwen3-8Z --gpu H100": "plan Qwen/Qwen3-8B --gpu H100",
    "map configs/gemma-3-27b.yaml -f png": "map configs/gemma-3-27b.yaml -f text",
    "map configs/gemma-3-27b.yaml --allocation 99": "map configs/gemma-3-27b.yaml",
    "align configs/mistral-7b.json --engine 0.99": "align configs/mistral-7b.json --engine 0.33",
    "align configs/mistral-7b.json --num-blocks x": "align configs/mistral-7b.json",
    "align configs/mistral-7b.json --gpu H100 --weights 1GiB": "align configs/mistral-7b.json",
    "cg-support --backend FLASHINFR": "cg-support --backend FLASHINFER",
    "lint configs --fail-on bad": "lint configs --fail-on error",
}
"""A call that is wrong → the call that its last line proposes."""
REFUSED_BY_THE_ENGINE = [f"{PLAN} -tp 3", f"{PLAN} --max-model-len 100k"]
"""Of these the ones whose every word is known, and which vLLM itself refuses."""


@pytest.mark.parametrize("wrong", CALLS)
def test_an_error_ends_with_a_call_that_works(run, wrong):
    done = run(*shlex.split(wrong), env={"HF_HUB_OFFLINE": "1"})
    assert done.returncode == (1 if wrong in REFUSED_BY_THE_ENGINE else 2)
    *_, last = done.stderr.splitlines()
    assert last == f"Help: kvinspect {CALLS[wrong]}"
    again = run(*shlex.split(last)[2:])
    assert again.returncode in (0, 1), again.stderr


def test_an_unknown_ending_is_refused_with_one_that_is_known(run, tmp_path):
    for command in (("align", "configs/mistral-7b.json"), ("gpus",), ("rule",), ("schema",), ("lint", "configs")):
        wrong = tmp_path / "answer.pdf"
        done = run(*command, "-o", wrong)
        assert (done.returncode, wrong.exists()) == (2, False), command
        last = done.stderr.splitlines()[-1]
        assert last.startswith(f"Help: kvinspect {command[0]}")
        again = run(*shlex.split(last)[2:])
        assert again.returncode == 0
        assert again.stderr.startswith(f"wrote {tmp_path / 'answer.'}")


def test_where_nothing_is_known_the_help_is_named(run):
    assert run("align").stderr.endswith("Help: kvinspect align --help\n")
    assert run("nothing-like-it").stderr.endswith("Help: kvinspect --help\n")


def test_words_that_come_from_anywhere_stay_words():
    assert mended(["plan", "a b\x1b[31m", "--x"], "--x is not a flag of vLLM 0.33.0") == "kvinspect plan 'a b\\x1b[31m'"
    assert mended(["plan", "m", "--x", "y" * 500], "--z is not a flag of vLLM 0.33.0") == ""
    assert mended([], "did you mean x?") == ""


def test_a_refusal_for_memory_ends_with_a_plan_that_fits(run):
    done = run("plan", "examples/models/gemma-3-27b", "--gpu", "H100")
    assert done.returncode == 1
    line = next(line for line in done.stdout.splitlines() if line.startswith("Try: "))
    assert run(*shlex.split(line)[2:]).returncode == 0


def test_a_change_takes_the_place_of_the_flag_that_it_changes(run):
    done = run("plan", "deepseek-ai/DeepSeek-V3", "--gpu=8xH100")
    assert "Try: kvinspect plan deepseek-ai/DeepSeek-V3 --gpu 16xH100 -tp 8 -pp 2\n" in done.stdout


def test_a_pattern_names_files_in_every_command(run):
    assert "15 files" in run("lint", "configs/*").stdout
    for command in ("align", "cg-support"):
        done = run(command, "configs/whisper*.yaml", "--format", "json")
        assert done.stdout.count('"engine":') == 2, command
    assert run("align", "configs/nothing*.yaml").returncode == 2
